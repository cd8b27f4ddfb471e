from __future__ import annotations

import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import anyio
import attrs
import httpx
import pytest

from plugins.fetch_urls import fetch as module
from plugins.fetch_urls.errors import NO_ADDRESS, FetchError, LimitError
from plugins.fetch_urls.fetch import ADDRESSES, PIECE, PIECES, REDIRECTS, Allowance, Fetcher, in_words
from plugins.fetch_urls.kinds import Fetched, Kind
from tests.core.http1.server import Handler, Peer, always, ok, serving
from tests.plugins.fetch_urls.place import HERE, PDF, PNG, fetched, fetcher, names, port_of

pytestmark = pytest.mark.anyio

IMAGE = ok(PNG, b"content-type: image/png")
GATE = "10.0.0.1"


def moved(location: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 6\r\n\r\nsecret".encode()


def by_path(answers: Callable[[str], bytes], seen: list[bytes]) -> Handler:
    """A server that answers by the path; `seen` are the requests' heads."""

    async def handle(peer: Peer) -> None:
        while head := await peer.head():
            seen.append(head)
            await peer.send(answers(head.split(b" ")[1].decode()))

    return handle


def endless(*first: bytes, piece: bytes) -> Handler:
    """A server whose answer never ends."""

    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(*first)
        while True:
            await peer.send(piece)

    return handle


async def refusal(given: Fetcher, url: str, kind: Kind = "image", total: int = 10_000) -> str:
    with pytest.raises(FetchError) as caught:
        await fetched(given, url, kind, total)
    return str(caught.value)


async def test_an_image_and_all_that_its_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    seen: list[bytes] = []
    async with serving(by_path(lambda _: IMAGE, seen)) as server:
        port = port_of(server)
        got = await fetched(fetcher(server), f"http://a.example:{port}/b%20c/ä?d=ü#e")
    assert (got.media_type, b64decode(got.data)) == ("image/png", PNG)
    first, *lines = seen[0].decode().rstrip().split("\r\n")
    assert first == "GET /b%20c/%C3%A4?d=%C3%BC HTTP/1.1"
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers.pop("user-agent").startswith("hookline/")
    assert headers == {
        "host": f"a.example:{port}",
        "accept": "image/png, image/jpeg, image/gif, image/webp",
        "accept-encoding": "identity",
        "connection": "close",
    }


async def test_a_document() -> None:
    async with serving(always(ok(PDF, b"content-type: application/pdf"))) as server:
        got = await fetched(fetcher(server), f"http://a.example:{port_of(server)}/", "document")
    assert got.media_type == "application/pdf"


async def test_the_name_is_resolved_once_and_the_connection_goes_there() -> None:
    resolve_ = names(a=[HERE, ("127.0.0.99",), (GATE,)])
    async with serving(always(IMAGE)) as server:
        await fetched(fetcher(server, resolve=resolve_), f"http://a.example:{port_of(server)}/")
        assert len(server.peers) == 1
        assert resolve_.asked == ["a.example"]


async def test_a_name_that_leads_elsewhere_the_next_time_is_checked_again() -> None:
    resolve_ = names(a=[HERE, (GATE,)])
    seen: list[bytes] = []
    async with serving(by_path(lambda _: moved("/again"), seen)) as server:
        url = f"http://a.example:{port_of(server)}/"
        assert await refusal(fetcher(server, resolve=resolve_), url) == NO_ADDRESS
    assert len(seen) == 1
    assert resolve_.asked == ["a.example"] * 2


@pytest.mark.parametrize(
    "addresses",
    [
        (),
        (GATE,),
        (*HERE, GATE),
        (GATE, *HERE),
        (*HERE, "169.254.169.254"),
        (*HERE, "::ffff:10.0.0.1"),
        (*HERE, "fe80::1%lo"),
        (*HERE, "64:ff9b::a00:1"),
        (*HERE, "0.0.0.0"),
        (*HERE, "rubbish"),
        tuple(["127.0.0.1"] * 9 + [GATE]),
    ],
)
async def test_nothing_is_connected_to_when_one_address_is_not_public(addresses: tuple[str, ...]) -> None:
    async with serving(always(IMAGE)) as server:
        given = fetcher(server, resolve=names(a=[addresses]))
        assert await refusal(given, f"http://a.example:{port_of(server)}/") == NO_ADDRESS
        assert server.peers == []


async def test_loopback_is_refused_without_its_network() -> None:
    async with serving(always(IMAGE)) as server:
        given = fetcher(server, networks=())
        for host in ("a.example", "127.0.0.1", "[::ffff:127.0.0.1]"):
            assert await refusal(given, f"http://{host}:{port_of(server)}/") == NO_ADDRESS
        assert server.peers == []


async def test_a_name_that_does_not_exist_looks_like_one_inside() -> None:
    async with serving(always(IMAGE)) as server:
        message = await refusal(fetcher(server), f"http://nowhere.example:{port_of(server)}/")
    assert message == NO_ADDRESS


async def test_the_next_address_is_tried_when_one_is_dead() -> None:
    async with serving(always(IMAGE)) as server:
        given = fetcher(server, resolve=names(a=[("127.0.0.2", "127.0.0.3", *HERE)]))
        assert await fetched(given, f"http://a.example:{port_of(server)}/")
        many = [f"127.0.0.{number}" for number in range(2, 2 + ADDRESSES)]
        given = fetcher(server, resolve=names(a=[(*many, *HERE)]))
        assert await refusal(given, f"http://a.example:{port_of(server)}/") == "its server cannot be reached"
        assert len(server.peers) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_to_other_hosts(status: int) -> None:
    seen: list[bytes] = []
    resolve_ = names(a=[HERE], b=[HERE])
    async with serving(always(IMAGE)) as last:
        location = f"http://b.example:{port_of(last)}/y"
        async with serving(by_path(lambda _: moved(location, status), seen)) as first:
            await fetched(fetcher(first, last, resolve=resolve_), f"http://a.example:{port_of(first)}/x")
    assert resolve_.asked == ["a.example", "b.example"]
    assert len(seen) == 1


async def test_so_many_redirects_and_no_more() -> None:
    seen: list[bytes] = []

    def answer(path: str) -> bytes:
        left = int(path.removeprefix("/"))
        return moved(f"/{left - 1}") if left else IMAGE

    async with serving(by_path(answer, seen)) as server:
        root = f"http://a.example:{port_of(server)}"
        assert await fetched(fetcher(server), f"{root}/{REDIRECTS}")
        assert len(seen) == REDIRECTS + 1
        message = await refusal(fetcher(server), f"{root}/{REDIRECTS + 1}")
        assert message == f"it redirects more than {REDIRECTS} times"
        assert len(seen) == 2 * (REDIRECTS + 1)


@pytest.mark.parametrize(
    "location",
    [
        f"http://{GATE}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://2130706433/",
        "https://a.example:22/",
        "file:///etc/passwd",
        "http://u:p@a.example/",
        "//0x7f.1/",
    ],
)
async def test_a_redirect_to_what_is_not_fetched(location: str) -> None:
    async with serving(always(moved(location))) as server:
        message = await refusal(fetcher(server), f"http://a.example:{port_of(server)}/")
    assert message == "it redirects to a URL that is not fetched"


async def test_a_redirect_to_a_name_that_leads_inside() -> None:
    async with serving(always(IMAGE)) as inside, serving(always(moved("http://in.example/"))) as server:
        resolve_ = names(a=[HERE], **{"in": [(GATE,)]})
        given = fetcher(server, resolve=resolve_, ports=(80, port_of(server), port_of(inside)))
        assert await refusal(given, f"http://a.example:{port_of(server)}/") == NO_ADDRESS
        assert inside.peers == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 404 secret\r\ncontent-length: 6\r\n\r\nsecret", "its server answered with status 404"),
        (
            b"HTTP/1.1 401 No\r\nwww-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
            "its server answered with status 401",
        ),
        (b"HTTP/1.1 206 Part\r\ncontent-length: 0\r\n\r\n", "its server answered with status 206"),
        (b"HTTP/1.1 304 Same\r\n\r\n", "its server answered with status 304"),
        (b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n", "its server answered with status 302"),
        (ok(b"<html>secret", b"content-type: text/html"), "it is no PNG, JPEG, GIF or WebP image"),
        (ok(b"<html>secret", b"content-type: image/png"), "it is no PNG, JPEG, GIF or WebP image"),
        (ok(b"", b"content-type: image/png"), "it is no PNG, JPEG, GIF or WebP image"),
        (ok(PNG, b"content-type: text/html"), "it is no PNG, JPEG, GIF or WebP image"),
        (ok(PNG, b"content-encoding: gzip"), "its server sent it compressed, although it was asked not to"),
        (ok(PNG + b"x" * 1000), "it has more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n", "it has more than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n" + PNG, "its server sent no whole answer"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "its server sent no whole answer"),
        (b"SSH-2.0-OpenSSH_9.2 secret\r\n", "its server sent no whole answer"),
        (b"+PONG\r\n-ERR secret\r\n\r\n", "its server sent no whole answer"),
        (b"", "its server sent no whole answer"),
    ],
)
async def test_answers_that_are_no_image(answer: bytes, why: str) -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(answer)

    async with serving(handle) as server:
        message = await refusal(fetcher(server), f"http://a.example:{port_of(server)}/")
    assert message == why


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n"


@pytest.mark.parametrize(
    ("handle", "why"),
    [
        (endless(HEAD + b"\r\n", PNG, piece=b"x" * 100), "it has more than 1000 bytes"),
        (endless(HEAD + b"transfer-encoding: chunked\r\n\r\n", piece=b"1\r\nx\r\n"), "it has more than 1000 bytes"),
        (endless(b"HTTP/1.1 200 OK\r\n", piece=b"x: " + b"y" * 1000 + b"\r\n"), "its server sent no whole answer"),
        (endless(b"", piece=b"x" * 1000), "its server sent no whole answer"),
    ],
)
async def test_answers_without_end_are_broken_off(handle: Handler, why: str) -> None:
    closed = anyio.Event()

    async def watched(peer: Peer) -> None:
        try:
            await handle(peer)
        finally:
            closed.set()

    async with serving(watched) as server:
        with anyio.fail_after(10):
            assert await refusal(fetcher(server), f"http://a.example:{port_of(server)}/") == why
            await closed.wait()


async def test_a_file_in_chunks_of_a_byte_is_broken_off_and_one_in_small_chunks_is_not() -> None:
    chunked = HEAD + b"transfer-encoding: chunked\r\n\r\n"
    small = PNG + b"x" * (PIECE - len(PNG))
    chunk = b"%x\r\n%b\r\n" % (len(small), small)
    async with serving(endless(chunked, piece=b"1\r\nx\r\n" * 1000)) as server:
        why = await refusal(fetcher(server, image=10**6), f"http://a.example:{port_of(server)}/", total=10**6)
        assert why == "its server sent no whole answer"
    async with serving(always(chunked + chunk * (3 * PIECES) + b"0\r\n\r\n")) as server:
        given = fetcher(server, image=10**6)
        got = await fetched(given, f"http://a.example:{port_of(server)}/", total=10**6)
        assert got.size == len(small) * 3 * PIECES


class Pieces(httpx.AsyncByteStream):
    """A body of so many reads of a byte."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for byte in (PNG + b"x" * self.number)[: self.number]:
            yield bytes([byte])


async def test_a_file_that_comes_byte_by_byte_is_broken_off() -> None:
    enough = PIECES + PIECES // PIECE
    given = fetcher(image=10**6)
    got = await given._read(httpx.Response(200, stream=Pieces(enough)), "image", Allowance(10**6))
    assert got.size == pytest.approx(enough, abs=2)
    with pytest.raises(FetchError, match="its server sent it in too many small pieces"):
        await given._read(httpx.Response(200, stream=Pieces(enough + PIECE)), "image", Allowance(10**6))


@pytest.mark.parametrize(
    "piece", [b"HTTP/1.1 100 C\r\n\r\n" * 1000, b"HTTP/1.1 103 E\r\nlink: a\r\n\r\n" * 1000, b"a:\r\n" * 1000]
)
async def test_a_flood_of_interim_answers_or_headers_is_broken_off_with_the_first_of_it(piece: bytes) -> None:
    async with serving(endless(*[HEAD] * piece.startswith(b"a"), piece=piece)) as server:
        with anyio.fail_after(10):
            why = await refusal(fetcher(server), f"http://a.example:{port_of(server)}/")
    assert why == "its server sent no whole answer"


async def test_a_piece_that_comes_behind_the_limit_of_the_request() -> None:
    async with serving(always(ok(PNG * 10))) as server:
        with pytest.raises(LimitError, match="the files of this request have more than 100 bytes together"):
            await fetched(fetcher(server), f"http://a.example:{port_of(server)}/", total=100)
        assert await fetched(fetcher(server), f"http://a.example:{port_of(server)}/", total=len(PNG) * 10)


async def test_who_leaves_closes_the_connection() -> None:
    asked, gone = anyio.Event(), anyio.Event()

    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(HEAD + b"content-length: 100\r\n\r\n", PNG)
        asked.set()
        await peer.gone()
        gone.set()

    async with serving(handle) as server, anyio.create_task_group() as group:
        group.start_soon(fetched, fetcher(server), f"http://a.example:{port_of(server)}/")
        with anyio.fail_after(10):
            await asked.wait()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await gone.wait()


def tls_fetcher(port: int, ca: Path, **answers: Any) -> Fetcher:
    given = fetcher(resolve=names(**answers))
    guard = attrs.evolve(given.guard, allow_http=False, ports=(port,))
    return attrs.evolve(given, guard=guard, tls=lambda: ssl.create_default_context(cafile=str(ca)))


async def test_tls_wants_the_certificate_of_the_name(
    certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    ca, context = certificate
    named: list[str] = []
    monkeypatch.setattr(context, "sni_callback", lambda _, name, __: named.append(name))
    seen: list[bytes] = []
    async with serving(by_path(lambda _: IMAGE, seen), context) as server:
        port = port_of(server)
        given = attrs.evolve(tls_fetcher(port, ca), resolve=as_model)
        assert (await fetched(given, f"https://model:{port}/")).media_type == "image/png"
        assert f"host: model:{port}\r\n".encode() in seen[0].lower()
        message = await refusal(tls_fetcher(port, ca, a=[HERE]), f"https://a.example:{port}/")
        assert message == "its server's certificate was not accepted"
        other = attrs.evolve(given, tls=ssl.create_default_context)
        assert await refusal(other, f"https://model:{port}/") == "its server's certificate was not accepted"
    assert named == ["model", "a.example", "model"]
    assert len(seen) == 1


async def as_model(host: str, owner: str) -> tuple[str, ...]:
    return {"model": HERE}[host]


async def test_https_to_a_server_without_tls(certificate: tuple[Path, ssl.SSLContext]) -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 No\r\n\r\n")

    async with serving(handle) as server:
        given = tls_fetcher(port_of(server), certificate[0], a=[HERE])
        assert await refusal(given, f"https://a.example:{port_of(server)}/") == "its server cannot be reached"


def test_an_allowance_is_used_up() -> None:
    allowance = Allowance(10)
    allowance.take(4)
    allowance.take(6)
    with pytest.raises(LimitError):
        allowance.take(1)


def test_sizes_in_words() -> None:
    assert [in_words(size) for size in (5 * 2**20, 2**20 * 3 // 2, 1000)] == ["5 MiB", "1.5 MiB", "1000 bytes"]


async def test_addresses_of_ipv6_are_connected_to_as_such() -> None:
    request = module._request(fetcher().guard.__class__().target("https://a.example/x"), "image", _six())
    assert str(request.url) == "https://[2606:4700::1111]/x"
    assert request.headers["host"] == "a.example"
    assert request.extensions["sni_hostname"] == "a.example"


def _six() -> Any:
    return next(iter(ip_network("2606:4700::1111/128")))


def test_a_file_is_a_value() -> None:
    assert Fetched("image/png", "QQ==") == Fetched("image/png", "QQ==")
