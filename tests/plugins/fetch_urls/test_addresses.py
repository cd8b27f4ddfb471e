from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.fetch_urls.addresses import METADATA, is_public, reachable

CLOSED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 127.0.0.1 127.1.2.3 169.254.1.1 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16 100.100.100.200
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:10.0.0.1
64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 64:ff9b:1::8.8.8.8 100::1
2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 3ffe::1 5f00::1
2002:7f00:1::1 2002:a00:1:: 2002:a9fe:a9fe:: 2001:0:a00:1::1 2001:0:808:808:0:0:80ff:fffe
2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:192.168.1.1
fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1 1::1
"""

OPEN = """
1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 198.17.0.1 198.20.0.1
223.255.255.254 2606:4700:4700::1111 2a00:1450:4001::200e ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
"""


@pytest.mark.parametrize("text", CLOSED.split())
def test_what_is_not_public(text: str) -> None:
    assert not reachable(ip_address(text))


@pytest.mark.parametrize("text", OPEN.split())
def test_what_is_public(text: str) -> None:
    assert reachable(ip_address(text))


def test_networks_open_what_is_private_and_no_more() -> None:
    networks = (ip_network("10.1.0.0/16"), ip_network("fd12::/16"))
    for text in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd12::1", "8.8.8.8"):
        assert reachable(ip_address(text), networks), text
    for text in ("10.2.0.1", "fd13::1", "127.0.0.1", "2001:0:a01:203:0:0:80ff:fffe"):
        assert not reachable(ip_address(text), networks), text


def test_metadata_is_never_reached() -> None:
    everything = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    for address in METADATA:
        assert not reachable(ip_address(str(address)), everything)
        if address.version == 4:
            assert not reachable(IPv6Address(f"::ffff:{address}"), everything)
            for prefix in ("64:ff9b:", "64:ff9b:1:", "::ffff:0", ":", "fd00:c1:", "2001:db8:64:"):
                assert not reachable(IPv6Address(f"{prefix}:{address}"), everything), prefix
    assert reachable(ip_address("127.0.0.1"), everything)


@given(st.ip_addresses(v=4))
def test_ipv4_is_the_same_in_every_wrapping(address: IPv4Address) -> None:
    half = int(address)
    wrapped = (0xFFFF << 32 | half, 0x64FF9B << 96 | half, 0x2002 << 112 | half << 80)
    assert {reachable(IPv6Address(each)) for each in wrapped} == {reachable(address)}


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_otherwise(address: IPv4Address | IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        kinds = ("private", "multicast", "reserved", "loopback", "link_local", "unspecified")
        assert not [kind for kind in kinds if getattr(address, f"is_{kind}")]
