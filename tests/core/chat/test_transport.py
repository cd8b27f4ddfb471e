from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import anyio
import httpx
import pytest

from core.chat.transport import direct_transport, fixed_headers, make_transport, network_error
from core.config import BackendConfig, Secret
from core.errors import Kind, UpstreamError
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply
from tests.core.chat.network import answer, client_of, http, raw_upstream, text

BODY = UpstreamAnswer().json()


def backend(**fields: object) -> BackendConfig:
    return BackendConfig("up", (), **{"url": "http://host", **fields})  # type: ignore[arg-type]


# --- headers ---


def test_the_headers_of_every_request() -> None:
    plain = fixed_headers(backend())
    assert sorted(plain) == ["accept-encoding", "content-type", "user-agent"]
    assert fixed_headers(backend(key=Secret("k")))["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("name", "sent"), [("authorization", "Bearer k"), ("Authorization", "Bearer k"), ("api-key", "k")]
)
def test_the_key_goes_where_the_plugin_wants_it(name: str, sent: str) -> None:
    headers = fixed_headers(backend(key=Secret("k")), name)
    assert headers[name] == sent
    assert [value for value in headers.values() if "k" in value.split()] == [sent]
    assert name not in fixed_headers(backend(), name)


def test_the_operator_s_headers_win_whatever_their_case() -> None:
    headers = fixed_headers(backend(key=Secret("k"), headers={"AUTHORIZATION": Secret("x"), "x-a": Secret("y")}))
    assert (headers["authorization"], headers["x-a"]) == ("x", "y")
    assert len(headers.get_list("authorization")) == 1


# --- what exceptions mean ---


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


ERRORS: list[tuple[Exception, Kind, str]] = [
    (httpx.ConnectError("refused"), "overloaded", "cannot be reached"),
    (httpx.ConnectTimeout(""), "timeout", "accept a connection"),
    (httpx.ReadTimeout(""), "timeout", "silent"),
    (httpx.PoolTimeout(""), "timeout", "silent"),
    (caused(httpx.ConnectError(""), ssl.SSLError()), "api", "TLS"),
    (httpx.ReadError(""), "api", "broke the connection"),
    (httpx.RemoteProtocolError(""), "api", "broke the connection"),
    (httpx.DecodingError(""), "api", "broke the connection"),
]


@pytest.mark.parametrize(("error", "kind", "words"), ERRORS)
def test_what_an_exception_means(error: Exception, kind: Kind, words: str) -> None:
    found = network_error(error)
    assert found.kind == kind
    assert words in found.message
    assert found.status == {"api": 502, "timeout": 504, "overloaded": 529}[kind]


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A self-signed certificate for 127.0.0.1, and a server's context with it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("tls")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    name = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-out", "cert.pem"]
    subprocess.run([openssl, "req", "-x509", *curve, *name], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


@pytest.mark.anyio
async def test_an_unknown_certificate_is_refused(certificate: tuple[Path, ssl.SSLContext]) -> None:
    async with raw_upstream(lambda *_: http(BODY), certificate[1]) as url, client_of(url) as client:
        with pytest.raises(UpstreamError) as caught:
            await answer(client)
    assert (caught.value.status, caught.value.message) == (502, "the upstream's TLS certificate was not accepted")


@pytest.mark.anyio
@pytest.mark.parametrize("write", [str, str.upper, " {} ".format])
async def test_the_operator_s_ca_is_trusted(certificate: tuple[Path, ssl.SSLContext], write: type[str]) -> None:
    ca, context = certificate
    async with raw_upstream(lambda *_: http(BODY), context) as url, client_of(write(url), ca=str(ca)) as client:
        for _ in range(2):
            assert text(await answer(client)) == "Hello."


@pytest.mark.anyio
async def test_a_call_s_own_url_may_be_tls(certificate: tuple[Path, ssl.SSLContext]) -> None:
    ca, context = certificate
    async with raw_upstream(lambda *_: http(BODY), context) as url, client_of("", ca=str(ca)) as client:
        assert text(await answer(client, url=url)) == "Hello."


@pytest.mark.anyio
async def test_tls_towards_a_plain_server() -> None:
    async with (
        raw_upstream(lambda *_: http(BODY)) as url,
        client_of(url.replace("http", "https"), connect_timeout=0.1) as client,
    ):
        with pytest.raises(UpstreamError) as caught:
            await answer(client)
    assert "127.0.0.1" not in caught.value.message


# --- proxies ---


@pytest.mark.anyio
@pytest.mark.parametrize(("user", "header"), [("", None), ("me:secret@", "Basic bWU6c2VjcmV0")])
async def test_the_table_s_proxy_is_used(user: str, header: str | None) -> None:
    async with MockUpstream() as proxy:
        address = Secret(proxy.root.replace("://", f"://{user}"))
        async with client_of("http://model.invalid/v1", proxy=address, key=Secret("sesame")) as client:
            assert text(await answer(client)) == "Hello."
    (exchange,) = proxy.exchanges
    assert exchange.path == "http://model.invalid/v1/chat/completions"
    assert exchange.headers.get("proxy-authorization") == header
    assert exchange.headers["authorization"] == "Bearer sesame"


@pytest.mark.anyio
async def test_a_proxy_that_is_not_there_is_an_overload() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with client_of("http://model.invalid", proxy=Secret(f"http://127.0.0.1:{port}")) as client:
        with pytest.raises(UpstreamError) as caught:
            await answer(client)
    assert (caught.value.kind, caught.value.message) == ("overloaded", "the upstream cannot be reached")


@pytest.mark.anyio
async def test_a_proxy_that_refuses_a_tunnel() -> None:
    refusal = http(b"no", status="407 Proxy Authentication Required")
    async with (
        raw_upstream(lambda *_: refusal) as proxy,
        client_of("https://model.invalid", proxy=Secret(proxy)) as client,
    ):
        with pytest.raises(UpstreamError) as caught:
            await answer(client)
    assert caught.value.status == 502
    assert "model.invalid" not in caught.value.message


@pytest.mark.anyio
async def test_proxies_of_the_environment_are_nobody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with MockUpstream() as upstream, client_of(upstream.url) as client:
        assert text(await answer(client)) == "Hello."


# --- the pool ---


@pytest.mark.anyio
async def test_userinfo_in_the_url_is_basic_authorization() -> None:
    async with MockUpstream() as upstream, client_of(upstream.url.replace("://", "://me:secret@")) as client:
        assert text(await answer(client)) == "Hello."
        assert "secret" in client.hidden()
    assert upstream.exchanges[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


@pytest.mark.anyio
async def test_two_backends_share_no_connections() -> None:
    async with MockUpstream() as upstream, client_of(upstream.url) as one, client_of(upstream.url) as other:
        for client in (one, other, one, other):
            await answer(client)
    assert upstream.connections == 2


@pytest.mark.anyio
async def test_a_direct_transport_keeps_no_connection_and_follows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    moved = UpstreamReply(b"", status=302, headers={"location": "http://127.0.0.1:9/"})
    async with MockUpstream(moved) as upstream, direct_transport() as transport:
        for _ in range(2):
            response = await transport.handle_async_request(httpx.Request("GET", f"{upstream.root}/x"))
            assert (response.status_code, await response.aread()) == (302, b"")
        with pytest.raises(httpx.UnsupportedProtocol):
            await transport.handle_async_request(httpx.Request("GET", "https://127.0.0.1:9/"))
    assert upstream.connections == 2


@pytest.mark.anyio
async def test_a_transport_never_used_closes_without_a_word() -> None:
    await make_transport(backend()).aclose()


@pytest.mark.anyio
async def test_without_a_limit_of_time_none_is_set() -> None:
    gate = anyio.Event()
    async with MockUpstream(UpstreamReply(b"{}", hold_head=gate)) as upstream:
        transport = make_transport(backend())
        async with httpx.AsyncClient(transport=transport, timeout=None) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.get, upstream.root)
            await upstream.exchange()
            gate.set()
    assert len(upstream.exchanges) == 1
