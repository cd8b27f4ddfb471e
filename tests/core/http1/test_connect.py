from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.http1.connect import Origin, connect, origin_of
from core.http1.connection import Connection
from tests.core.http1.server import Peer, always, ok, serving


def lost(connection: Connection) -> None:
    """Nobody wants to know."""


def request(url: str, **extensions: Any) -> httpx.Request:
    return httpx.Request("GET", url, extensions=extensions)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://host", Origin("http", "host", 80, "host")),
        ("HTTPS://Host./x", Origin("https", "host.", 443, "host")),
        ("https://[::1]:8443", Origin("https", "::1", 8443, "::1")),
        ("http://bücher.example:81", Origin("http", "xn--bcher-kva.example", 81, "xn--bcher-kva.example")),
    ],
)
def test_where_a_request_goes(url: str, origin: Origin) -> None:
    assert origin_of(request(url)) == origin


def test_another_name_for_the_certificate() -> None:
    assert origin_of(request("https://10.0.0.1", sni_hostname="model")).name == "model"


@pytest.mark.parametrize("url", ["ftp://host", "/path", "//host", "http://", "ws://host"])
def test_where_none_can_go(url: str) -> None:
    with pytest.raises(httpx.UnsupportedProtocol):
        origin_of(request(url))


def at(url: str) -> Origin:
    return origin_of(request(url))


@pytest.mark.anyio
async def test_no_delay_is_set() -> None:
    async with serving(always(ok(b""))) as server:
        connection = await connect(at(server.url), None, 5, lost)
        assert connection._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()


@pytest.mark.anyio
@pytest.mark.parametrize("url", ["http://127.0.0.1:{}", "http://localhost:{}"])
async def test_a_refused_connection(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpx.ConnectError) as caught:
        await connect(at(url.format(port)), None, 5, lost)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["model.invalid", "a" * 64])
async def test_a_name_that_is_none(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object, **named: object) -> None:
        raise socket.gaierror(-2, "Name or service not known") if "." in host else UnicodeError("label too long")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(httpx.ConnectError):
        await connect(Origin("http", host, 80, host), None, 5, lost)


@pytest.mark.anyio
async def test_a_server_that_does_not_shake_hands() -> None:
    async def handle(peer: Peer) -> None:
        await peer.gone()

    async with serving(handle) as server:
        with pytest.raises(httpx.ConnectTimeout):
            await connect(at(server.url.replace("http:", "https:")), ssl.create_default_context(), 0.02, lost)


@pytest.mark.anyio
async def test_cancelling_leaves_nothing_open() -> None:
    begun = asyncio.Event()
    done = asyncio.Event()

    async def handle(peer: Peer) -> None:
        begun.set()
        await peer.gone()
        done.set()

    async with serving(handle) as server:
        url = server.url.replace("http:", "https:")
        task = asyncio.create_task(connect(at(url), ssl.create_default_context(), 5, lost))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await done.wait()


# --- TLS ---


@pytest.mark.anyio
async def test_the_name_is_sent_and_checked(certificate: tuple[Path, ssl.SSLContext]) -> None:
    ca, served = certificate
    names: list[str | None] = []
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(ca))
    async with serving(always(ok(b"")), served) as server:
        origin = at(server.url)
        connection = await connect(origin._replace(name="model"), trusting, 5, lost)
        connection.close()
        for name in ("other", "127.0.0.2"):
            with pytest.raises(httpx.ConnectError) as caught:
                await connect(origin._replace(name=name), trusting, 5, lost)
            assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
        with pytest.raises(httpx.ConnectError) as caught:
            await connect(origin._replace(name="model"), ssl.create_default_context(), 5, lost)
        assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
    assert names[:2] == ["model", "other"]
