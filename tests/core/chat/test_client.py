from __future__ import annotations

import gzip
import socket
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest

from core.chat import Dialect, UpstreamClient
from core.chat.client import ERROR_BODY_LIMIT
from core.chat.failures import clean
from core.config import BackendConfig, Secret
from core.errors import GatewayError, UpstreamError
from core.testing import MockUpstream, UpstreamReply
from tests.core.chat.network import client_of, http, raw_upstream

pytestmark = pytest.mark.anyio

OK = UpstreamReply.json({"ok": True})


async def post(client: UpstreamClient, body: bytes = b"{}", url: str = "") -> bytes:
    response = await client.post(body, url)
    try:
        return b"".join([data async for data in response.aiter_bytes()])
    finally:
        await response.aclose()


async def refused(client: UpstreamClient, url: str = "") -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await post(client, url=url)
    return caught.value


# --- what is sent ---


async def test_the_headers_are_ours_and_no_more() -> None:
    async with MockUpstream(OK) as upstream, client_of(upstream.url) as client:
        assert await post(client, b'{"a":1}') == b'{"ok":true}'
        host = upstream.root.removeprefix("http://")
    (exchange,) = upstream.exchanges
    headers = dict(exchange.headers)
    assert headers.pop("user-agent").startswith("hookline/")
    assert headers == {
        "host": host,
        "content-type": "application/json",
        "accept-encoding": "identity",
        "content-length": "7",
    }
    assert (exchange.method, exchange.path, exchange.body) == ("POST", "/v1/chat/completions", b'{"a":1}')


async def test_key_and_headers_of_the_operator_win() -> None:
    fields = {
        "key": Secret("sesame"),
        "headers": {"X-Team": Secret("a"), "User-Agent": Secret("mine"), "accept-encoding": Secret("gzip")},
    }
    async with MockUpstream(OK) as upstream, client_of(upstream.url, **fields) as client:
        await post(client)
    headers = upstream.exchanges[0].headers
    assert headers["authorization"] == "Bearer sesame"
    assert (headers["x-team"], headers["user-agent"], headers["accept-encoding"]) == ("a", "mine", "gzip")


async def test_a_header_may_replace_the_key_s() -> None:
    fields = {"key": Secret("sesame"), "headers": {"Authorization": Secret("Basic abc")}}
    async with MockUpstream(OK) as upstream, client_of(upstream.url, **fields) as client:
        await post(client)
    assert upstream.exchanges[0].headers["authorization"] == "Basic abc"


async def test_the_key_may_have_a_header_of_its_own() -> None:
    async with MockUpstream(OK) as upstream:
        client = UpstreamClient(BackendConfig("up", (), url=upstream.url, key=Secret("sesame")), key_header="api-key")
        await post(client)
        await client.http.get(f"{upstream.root}/models")
        await client.aclose()
    assert [exchange.headers["api-key"] for exchange in upstream.exchanges] == ["sesame", "sesame"]
    assert not any("authorization" in exchange.headers for exchange in upstream.exchanges)


async def test_query_and_path() -> None:
    async with MockUpstream(OK) as upstream, client_of(f"{upstream.root}/team?a=1", query={"b": "2 3"}) as client:
        await post(client)
        await post(client, url=f"{upstream.root}/other/v2")
    assert [exchange.path for exchange in upstream.exchanges] == [
        "/team/v1/chat/completions?a=1&b=2+3",
        "/other/v2/chat/completions?b=2+3",
    ]


async def test_the_path_may_be_another() -> None:
    async with MockUpstream(OK) as upstream:
        config = BackendConfig("up", (), url=f"{upstream.root}/base", query={"b": "2"})
        client = UpstreamClient(config, path="/v2/complete-chat")
        await post(client)
        await post(client, url=f"{upstream.root}/other")
        await post(client, url=f"{upstream.root}/other/v2/complete-chat")
        await client.aclose()
        assert f"{upstream.root}/base/v2/complete-chat?b=2" in client.hidden()
    assert [exchange.path for exchange in upstream.exchanges] == [
        "/base/v2/complete-chat?b=2",
        "/other/v2/complete-chat?b=2",
        "/other/v2/complete-chat?b=2",
    ]


async def test_cookies_of_one_answer_do_not_go_with_the_next_request() -> None:
    reply = UpstreamReply.json({}, headers={"set-cookie": "session=of-somebody; path=/"})
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        for _ in range(2):
            await post(client)
    assert "cookie" not in upstream.exchanges[1].headers


async def test_a_redirect_is_not_followed() -> None:
    async with (
        MockUpstream(UpstreamReply(b"", 307, {"location": "/elsewhere"})) as upstream,
        client_of(upstream.url) as client,
    ):
        assert (await refused(client)).status == 502
    assert len(upstream.exchanges) == 1


async def test_plain_http_on_the_same_connections() -> None:
    async with MockUpstream(OK) as upstream, client_of(upstream.url, key=Secret("sesame")) as client:
        await post(client)
        assert (await client.http.get(f"{upstream.root}/health")).json() == {"ok": True}
    assert upstream.connections == 1
    assert upstream.exchanges[1].headers["authorization"] == "Bearer sesame"


async def test_another_endpoint_is_asked_the_same_way() -> None:
    async with MockUpstream(OK) as upstream, client_of(upstream.url, key=Secret("sesame")) as client:
        await post(client)
        assert await client.ask(httpx.URL(f"{upstream.root}/tokenize"), b'{"a":1}') == {"ok": True}
    assert upstream.connections == 1
    exchange = upstream.exchanges[1]
    assert (exchange.method, exchange.path, exchange.body) == ("POST", "/tokenize", b'{"a":1}')
    assert exchange.headers["authorization"] == "Bearer sesame"


@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        (UpstreamReply.json({"detail": "Not Found"}, status=404), 404, "Not Found"),
        (UpstreamReply.json({"error": "no sesame"}, status=400), 400, r"no \[hidden\]"),
        (UpstreamReply(b"<html>"), 502, "the upstream's answer is not JSON"),
        (UpstreamReply(b'{"a": 1', end="reset"), 502, "the upstream broke the connection"),
    ],
)
async def test_another_endpoint_may_refuse(reply: UpstreamReply, status: int, said: str) -> None:
    async with MockUpstream(reply, OK) as upstream, client_of(upstream.url, key=Secret("sesame")) as client:
        with pytest.raises(UpstreamError, match=f"^{said}$") as caught:
            await client.ask(httpx.URL(f"{upstream.root}/tokenize"), b"{}")
        assert caught.value.status == status
        assert await client.ask(httpx.URL(f"{upstream.root}/tokenize"), b"{}") == {"ok": True}


async def test_an_answer_of_another_endpoint_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.client.ANSWER_LIMIT", 1000)
    fits, too_long = (UpstreamReply.json({"a": "x" * size}) for size in (900, 1000))
    async with MockUpstream(fits, too_long) as upstream, client_of(upstream.url) as client:
        target = httpx.URL(f"{upstream.root}/tokenize")
        assert len((await client.ask(target, b"{}"))["a"]) == 900
        with pytest.raises(UpstreamError, match="not JSON"):
            await client.ask(target, b"{}")


@pytest.mark.parametrize(("host", "said"), [("engine.local", "[hidden] failed"), ("ollama", "ollama failed")])
def test_the_host_is_hidden_unless_it_may_be_a_word(host: str, said: str) -> None:
    hidden = UpstreamClient(BackendConfig("b", ("p",), url=f"http://{host}/v1")).hidden()
    assert clean(f"{host} failed", hidden) == said


# --- connections ---


async def test_one_connection_serves_many_requests() -> None:
    replies = (OK, UpstreamReply.json({}, chunked=False), UpstreamReply(b'{"error": "no"}', 400))
    async with MockUpstream(*(replies * 10)) as upstream, client_of(upstream.url) as client:
        for number in range(30):
            if number % 3 == 2:
                await refused(client)
            else:
                await post(client)
    assert (upstream.connections, len(upstream.exchanges)) == (1, 30)


async def test_many_requests_at_once_do_not_queue() -> None:
    gate = anyio.Event()
    async with MockUpstream(UpstreamReply.json({}, hold_head=gate)) as upstream, client_of(upstream.url) as client:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(120):
                    tasks.start_soon(post, client)
                await upstream.exchange(119)
                gate.set()
    assert upstream.connections == 120


async def test_a_request_that_was_read_on_a_kept_connection_is_not_sent_again() -> None:
    seen: list[tuple[int, int]] = []

    def script(connection: int, request: int) -> bytes | None:
        seen.append((connection, request))
        return http(b"{}") if request == 0 else None

    async with raw_upstream(script) as url, client_of(url) as client:
        assert await post(client) == b"{}"
        assert (await refused(client)).status == 502
        assert await post(client) == b"{}"
    assert seen == [(0, 0), (0, 1), (1, 0)]


async def test_a_fresh_connection_that_dies_is_not_tried_again() -> None:
    seen: list[tuple[int, int]] = []

    def script(connection: int, request: int) -> bytes | None:
        seen.append((connection, request))
        return None

    async with raw_upstream(script) as url, client_of(url) as client:
        error = await refused(client)
    assert (error.message, error.kind, error.status) == ("the upstream broke the connection", "api", 502)
    assert seen == [(0, 0)]


async def test_nothing_is_sent_again_after_a_part_of_the_answer() -> None:
    seen: list[int] = []

    def script(connection: int, request: int) -> bytes:
        seen.append(request)
        return http(b"{}") if request == 0 else b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 99\r\n\r\n{"

    async with raw_upstream(script) as url, client_of(url) as client:
        await post(client)
        with pytest.raises(httpx.RemoteProtocolError):
            await post(client)
    assert seen == [0, 1]


# --- what goes wrong ---


async def test_a_refused_connection_is_an_overload_and_tells_no_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with client_of(f"http://127.0.0.1:{port}") as client:
        error = await refused(client)
    assert (error.kind, error.status) == ("overloaded", 529)
    assert error.message == "the upstream cannot be reached"


async def test_silence_before_the_head_is_a_timeout() -> None:
    reply = UpstreamReply.json({}, hold_head=anyio.Event())
    async with (
        MockUpstream(reply) as upstream,
        client_of(upstream.url, first_timeout=0.05, read_timeout=0.05) as client,
    ):
        error = await refused(client)
    assert (error.kind, error.status, error.message) == ("timeout", 504, "the upstream was silent for too long")


@pytest.mark.parametrize("fields", [{}, {"stop_after": 9, "end": "reset"}, {"stop_after": 9, "end": "close"}])
async def test_a_refusal_keeps_its_status_however_its_body_ends(fields: dict[str, object]) -> None:
    body = b'{"error": {"message": "slow down"}}'
    reply = UpstreamReply(body, 429, {"retry-after": "7"}, **fields)  # type: ignore[arg-type]
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        error = await refused(client)
    assert (error.kind, error.status, error.retry_after) == ("rate_limit", 429, 7.0)
    assert error.message
    assert fields or error.message == "slow down"


async def test_a_refusal_whose_body_never_ends_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.client.ERROR_BODY_TIME", 0.05)
    reply = UpstreamReply(b"busy", 503, content_type="text/plain", hold=anyio.Event())
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        error = await refused(client)
        await upstream.exchanges[0].peer_closed()
    assert (error.kind, error.message) == ("overloaded", "busy")


async def test_of_a_huge_refusal_the_beginning_is_read() -> None:
    reply = UpstreamReply(b"x" * (4 * ERROR_BODY_LIMIT), 500, content_type="text/plain")
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        error = await refused(client)
    assert error.status == 500
    assert len(error.message) < 3000


async def test_a_compressed_refusal_is_read() -> None:
    reply = UpstreamReply(gzip.compress(b'{"error": "words"}'), 400, {"content-encoding": "gzip"})
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        assert (await refused(client)).message == "words"


async def test_a_refusal_tells_neither_secrets_nor_the_address() -> None:
    def echo(exchange: object) -> UpstreamReply:
        said = f"no: sesame-open, top-secret, {upstream.url}/chat/completions on {upstream.root}"
        return UpstreamReply.json({"error": said}, status=400)

    fields = {"key": Secret("sesame-open"), "headers": {"x-token": Secret("top-secret")}}
    async with MockUpstream(echo) as upstream, client_of(upstream.url, **fields) as client:
        for url in ("", f"{upstream.root}/v1"):
            assert (await refused(client, url)).message == "no: [hidden], [hidden], [hidden] on [hidden]"


async def test_a_backend_without_a_url() -> None:
    async with MockUpstream(OK) as upstream, client_of("") as client:
        assert (await refused(client)).message == "this backend has no url"
        assert not any(client.hidden())
        assert await post(client, url=upstream.url) == b'{"ok":true}'


# --- the table's dialect ---


async def test_single_fields_of_the_dialect_are_overridden() -> None:
    base = Dialect(top_k=True)
    async with client_of("http://host") as plain, client_of("http://host", dialect={"max_stops": 16}) as other:
        assert plain.dialect(base) is base
        assert other.dialect(base) == Dialect(top_k=True, max_stops=16)


async def test_a_transport_may_be_given_and_is_closed() -> None:
    class Closing(httpx.MockTransport):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    transport = Closing(lambda request: httpx.Response(200, json={"path": request.url.path}))
    client = UpstreamClient(BackendConfig("up", (), url="http://host"), transport)
    assert b"/v1/chat/completions" in await post(client)
    await client.aclose()
    assert transport.closed


async def test_no_answer_is_a_gateway_error() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("http://10.0.0.5 is slow")

    client = UpstreamClient(BackendConfig("up", (), url="http://host"), httpx.MockTransport(broken))
    with pytest.raises(GatewayError, match="did not accept a connection in time") as caught:
        await post(client)
    assert caught.value.kind == "timeout"
    await client.aclose()


async def test_secrets_are_hidden_word_by_word_and_those_of_the_query_too() -> None:
    fields: dict[str, Any] = {
        "key": Secret("topsecretkey-12345"),
        "headers": {"x-other": Secret("Token hush-hush-9876")},
        "query": {"api": "querysecret77"},
    }
    said = "bad key topsecretkey-12345 for hush-hush-9876 querysecret77"
    async with (
        MockUpstream(UpstreamReply.json({"error": said}, status=400)) as upstream,
        client_of(upstream.url, **fields) as client,
    ):
        with pytest.raises(UpstreamError) as caught:
            await client.post(b"{}")
    assert caught.value.message == "bad key [hidden] for [hidden] [hidden]"


@pytest.mark.parametrize("encode", [lambda key: quote(key, safe=""), lambda key: b64encode(key.encode()).decode()])
async def test_secrets_are_hidden_encoded_too(encode: Callable[[str], str]) -> None:
    key = "top/secret+key=12345"
    said = f"bad key {encode(key)}"
    async with (
        MockUpstream(UpstreamReply.json({"error": said}, status=400)) as upstream,
        client_of(upstream.url, key=Secret(key)) as client,
    ):
        for url in ("", upstream.root):
            assert (await refused(client, url)).message == "bad key [hidden]"
    assert encode(key) in client.secrets


def test_what_is_hidden_is_put_together_once_and_anew_for_another_url() -> None:
    client = UpstreamClient(BackendConfig("b", ("p",), url="http://one.local", key=Secret("open-sesame")))
    assert client.hidden() is client.hidden()
    other = client.hidden("http://me:password@two.local")
    assert client.hidden("http://me:password@two.local") is other
    assert (
        clean("two.local: me:password; " + b64encode(b"me:password").decode(), other) == "[hidden]: [hidden]; [hidden]"
    )
    assert clean("one.local", other) == "one.local"
    assert clean("two.local", client.hidden("http://one.local")) == "two.local"


def test_a_dialect_is_put_together_once_and_anew_for_another() -> None:
    client = UpstreamClient(
        BackendConfig("up", ("openai",), dialect={"max_stops": 2}), httpx.MockTransport(lambda _: httpx.Response(200))
    )
    first, second = Dialect(), Dialect(top_k=True)
    assert client.dialect(first) is client.dialect(first)
    assert (client.dialect(first).max_stops, client.dialect(first).top_k) == (2, False)
    assert (client.dialect(second).max_stops, client.dialect(second).top_k) == (2, True)
    assert client.dialect(first).top_k is False
