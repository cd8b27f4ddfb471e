from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.fetch_urls.addresses import reachable
from plugins.fetch_urls.errors import NO_ADDRESS, FetchError
from plugins.fetch_urls.guard import Guard, host_of, parsed

NAME = "its host is no name of a host"
SCHEME = "only https URLs are fetched"
BLANKS = "it has blanks or other characters that no URL has"
USER = "it has a user's name or password, which are never sent"

INSIDE = (
    "127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1 169.254.169.254 224.0.0.1 "
    "255.255.255.255 192.0.2.1 198.18.0.1 168.63.129.16 100.100.100.200 127.0.0.1. [::1] [::] [::ffff:127.0.0.1] "
    "[::ffff:7f00:1] [::ffff:a9fe:a9fe] [0:0:0:0:0:ffff:10.0.0.1] [::127.0.0.1] [fe80::1] [fec0::1] [fd00::1] "
    "[fd00:ec2::254] [ff02::1] [2001:db8::1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [64:ff9b::7f00:1] "
    "[64:ff9b::a9fe:a9fe] [64:ff9b:1::1] [2001:0:7f00:1::1] [2001::1] 127。0。0。1 127．0．0．1 127｡0｡0｡1"
)
NO_HOSTS = (
    "2130706433 0x7f000001 017700000001 0x7f.1 0x7f.0.0.1 0177.0.0.1 127.1 127.0.1 0 0x 127.0.0.0x1 1.1.1.1.1 "
    "127.0.0.01 00127.0.0.1 256.1.1.1 1.2.3 a.example.1 a.example.0x7f 127.0.0.1.. . .. a..example .a.example "
    "a.example.. -a.example a-.example a.example- [::1%25lo] [fe80::1%eth0] [::1]x x[::1] [v1.x] [] [127.0.0.1] "
    "[::1 ::1] a.example,b a;b a$b a'b a(b) %31%32%37.0.0.1 127.0.0.1%00.example localhost%2f １２７.0.0.1 ①②⑦.0.0.1 "
    "ⓛocalhost ℓocalhost loc\u00adalhost a\u200b.example"
)

HOSTILE: dict[str, str] = {
    # addresses that are not public, as they are and written in other ways
    **dict.fromkeys(
        (f"https://{host}/" for host in INSIDE.split()),
        NO_ADDRESS,
    ),
    **dict.fromkeys(
        (f"https://{host}/" for host in NO_HOSTS.split(" ")),
        NAME,
    ),
    f"https://{'a' * 64}.example/": NAME,
    f"https://{'a.' * 127}example/": NAME,
    f"https://{'ü' * 4000}.example/": NAME,
    "https://": NAME,
    "https:///etc/passwd": NAME,
    "https:a.example/b.png": NAME,
    "https:/a.example/b.png": NAME,
    "https://:443/": NAME,
    "https://[::1": NAME,
    "https://]::1[/": NAME,
    # other schemes
    **dict.fromkeys(
        (
            "http://a.example/",
            "HTTP://a.example/",
            "file:///etc/passwd",
            "FILE://localhost/etc/passwd",
            "ftp://a.example/",
            "gopher://127.0.0.1:6379/_INFO",
            "dict://127.0.0.1:11211/stat",
            "ldap://a.example/",
            "jar:https://a.example/!/",
            "data:image/png;base64,AAAA",
            "DATA:image/png;base64,AAAA",
            "javascript:alert(1)",
            "blob:https://a.example/1",
            "unix:/run/docker.sock",
            "//a.example/b.png",
            "/etc/passwd",
            "a.example/b.png",
            "ws://a.example/",
        ),
        SCHEME,
    ),
    # who is asked, and who seems to be
    "https://user@a.example/": USER,
    "https://user:secret@a.example/": USER,
    "https://@a.example/": USER,
    "https://a.example@127.0.0.1/": USER,
    "https://a.example:443@127.0.0.1/": USER,
    "https://a.example%40@127.0.0.1/": USER,
    "https://a.example\\@127.0.0.1/": BLANKS,
    "https:\\\\127.0.0.1/": BLANKS,
    "https://a.example/b c": BLANKS,
    "https://a.example/b\r\nhost: x": BLANKS,
    "https://a.example\t/": BLANKS,
    "https://a.example\n.evil.example/": BLANKS,
    " https://a.example/": BLANKS,
    "\x00https://a.example/": BLANKS,
    "https://a.example/\x7f": BLANKS,
    "https://a.example/\u2028": BLANKS,
    "https://a.example/\ud800": BLANKS,
    f"https://a.example/{'a' * 8192}": "a URL has at most 8192 characters",
    # ports
    "https://a.example:22/": "port 22 is not one of those that are fetched from",
    "https://a.example:6379/": "port 6379 is not one of those that are fetched from",
    "https://a.example:0/": "port 0 is not one of those that are fetched from",
    "https://a.example:65536/": "its port is no number of a port",
    "https://a.example:-1/": "its port is no number of a port",
    "https://a.example:x/": "its port is no number of a port",
    "https://a.example:443:80/": "its port is no number of a port",
    "https://a.example:٤٤٣/": "its port is no number of a port",
}


def test_the_table_is_long_enough() -> None:
    assert len(HOSTILE) > 120


@pytest.mark.parametrize(("url", "why"), HOSTILE.items(), ids=ascii)
def test_a_hostile_url(url: str, why: str) -> None:
    with pytest.raises(FetchError) as caught:
        Guard().target(url)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(
    ("url", "host", "made"),
    [
        ("https://a.example", "a.example", "https://a.example/"),
        ("HTTPS://A.Example:443/B.png?x=/../1&y=%20#f", "a.example", "https://a.example/B.png?x=/../1&y=%20"),
        ("https://a.example.:80/b", "a.example", "https://a.example:80/b"),
        ("https://a.example?x@y", "a.example", "https://a.example/?x@y"),
        ("https://a.example/@b:c", "a.example", "https://a.example/@b:c"),
        ("https://bücher.example/ä", "xn--bcher-kva.example", "https://xn--bcher-kva.example/ä"),
        ("https://a_b-c.example/", "a_b-c.example", "https://a_b-c.example/"),
        ("https://1.1.1.1/x", "1.1.1.1", "https://1.1.1.1/x"),
        ("https://[2606:4700::0:1111]:80/x", "2606:4700::1111", "https://[2606:4700::1111]:80/x"),
        ("https://localhost/", "localhost", "https://localhost/"),  # what it means is looked at when it is resolved
    ],
)
def test_a_url_that_passes(url: str, host: str, made: str) -> None:
    target = Guard().target(url)
    assert (target.host, target.url) == (host, made)
    assert (target.address is not None) == (host[0] in "12")
    assert Guard().target(target.url) == target


def test_options_open_what_they_name() -> None:
    guard = Guard(allow_http=True, ports=(80, 8080), networks=(ip_network("10.0.0.0/8"),))
    assert guard.target("http://10.0.0.1:8080/").authority == "10.0.0.1:8080"
    assert guard.target("http://a.example/").port == 80
    for url in ("https://a.example/", "http://127.0.0.1/", "http://169.254.169.254/"):
        with pytest.raises(FetchError):
            guard.target(url)
    with pytest.raises(FetchError, match=r"^only http and https URLs"):
        guard.target("ftp://a.example/")


@pytest.mark.parametrize(
    ("url", "passes"),
    [
        ("https://cdn.example/", True),
        ("https://CDN.Example./", True),
        ("https://x.img.example/", True),
        ("https://img.example/", False),
        ("https://bad.img.example/", False),
        ("https://cdn.example.evil.example/", False),
        ("https://evilcdn.example/", False),
        ("https://1.1.1.1/", False),
        ("https://xn--bcher-kva.example/", True),
        ("https://bücher.example/", True),
    ],
)
def test_hosts(url: str, *, passes: bool) -> None:
    guard = Guard(hosts=("CDN.example", "*.img.example", "xn--*.example"), denied_hosts=("Bad.*",))
    if passes:
        assert guard.target(url)
    else:
        with pytest.raises(FetchError, match=r"^its host is not one of those that are fetched from$"):
            guard.target(url)


@pytest.mark.parametrize(
    ("location", "made"),
    [
        ("/c", "https://a.example/c"),
        ("c?d", "https://a.example/x/c?d"),
        ("//b.example/c", "https://b.example/c"),
        ("https://b.example", "https://b.example/"),
        ("#f", "https://a.example/x/y"),
    ],
)
def test_a_redirect_is_followed(location: str, made: str) -> None:
    guard = Guard()
    assert guard.redirected(guard.target("https://a.example/x/y"), location).url == made


@pytest.mark.parametrize(
    "location",
    [
        "http://a.example/",
        "//127.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://2130706433/",
        "file:///etc/passwd",
        "https://a.example:22/",
        "https://u@a.example/",
        "\\\\127.0.0.1\\x",
        "//[::1",
        "gopher://x",
    ],
)
def test_a_redirect_is_checked_as_a_whole_and_tells_nothing(location: str) -> None:
    guard = Guard()
    with pytest.raises(FetchError) as caught:
        guard.redirected(guard.target("https://a.example/"), location)
    assert str(caught.value) == "it redirects to a URL that is not fetched"


def test_every_address_must_be_public() -> None:
    guard = Guard()
    guard.check(parsed(["1.1.1.1", "2606:4700::1"]))
    for addresses in ([], ["10.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["1.1.1.1", "::ffff:127.0.0.1"], ["fe80::1%eth0"]):
        with pytest.raises(FetchError, match=NO_ADDRESS):
            guard.check(parsed(addresses))
    with pytest.raises(FetchError, match=NO_ADDRESS):
        parsed(["not an address"])


@given(st.text(), st.sampled_from(["https://{}", "https://{}/", "https://a.example/{}", "https://[{}]/", "{}"]))
def test_any_text_is_refused_or_taken_apart(text: str, form: str) -> None:
    try:
        target = Guard().target(form.format(text))
    except FetchError:
        return
    assert target.host.isascii()
    assert target.port in (80, 443)
    assert target.address is None or (reachable(target.address) and str(ip_address(target.host)) == target.host)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://A.example:8/path?secret", "a.example"),
        ("https://u:secret@a.example", "a.example"),
        ("http://[::1]/", "::1"),
        ("http://[", ""),
        ("file:///etc/passwd", ""),
        ("rubbish", ""),
        (f"https://{'a' * 9000}/secret", "a" * 254),
    ],
)
def test_the_log_has_the_host_alone(url: str, host: str) -> None:
    assert host_of(url) == host
