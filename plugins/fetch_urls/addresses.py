"""Which IP addresses are public; those that carry another address are looked through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA: Final = frozenset(
    (
        IPv4Address("169.254.169.254"),  # AWS, Azure, Google, Oracle, DigitalOcean and others
        IPv4Address("169.254.170.2"),  # AWS ECS
        IPv4Address("169.254.170.23"),  # AWS EKS
        IPv4Address("168.63.129.16"),  # Azure's wire server, within a public range
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv4Address("192.0.0.192"),  # Oracle, formerly
        IPv6Address("fd00:ec2::254"),  # AWS
        IPv6Address("fd00:ec2::23"),  # AWS EKS
        IPv6Address("fd20:ce::254"),  # Google
    )
)
"""Where clouds give credentials to whoever asks from inside; never reached, whatever is configured."""

# Written out beside `is_global`, which differs between versions of Python.
_CLOSED_4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_UNICAST_6: Final = IPv6Network("2000::/3")
_CLOSED_6: Final = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20")))
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""The upper half of an interface's identifier, before an IPv4 address (RFC 5214)."""


def reachable(address: Address, networks: Sequence[Network] = ()) -> bool:
    """Whether a file may be fetched from the address: it is public, or within one of the `networks`.

    Of an address that carries others, each of them must be so.
    """
    carried = tuple(_carried(address))
    # A translator of the operator's may have any prefix; nearly all have the IPv4 address at the end.
    last = address if isinstance(address, IPv4Address) else _last(address)
    if any(each in METADATA for each in (address, last, *carried)):
        return False
    return all(is_public(each) or _within(each, networks) for each in carried)


def is_public(address: Address) -> bool:
    """Whether the address, which carries no other, is one of the internet's, for a single receiver."""
    closed: Iterable[Network] = _CLOSED_4 if isinstance(address, IPv4Address) else _CLOSED_6
    if isinstance(address, IPv6Address) and (address not in _UNICAST_6 or address.scope_id is not None):
        return False
    return address.is_global and not address.is_multicast and not _within(address, closed)


def _carried(address: Address) -> Iterator[Address]:
    """The addresses that packets to this one may end at: the ones in it, or itself."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    elif address in _NAT64:
        yield _last(address)
    else:
        yield address
        if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
            yield _last(address)


def _last(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
