from __future__ import annotations

import asyncio
import gzip
import json
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Literal

import anyio
import attrs
import pytest

from core.chat import Call, Chunk, Dialect, ProblemField, the_choice, the_delta
from core.config import Secret
from core.errors import RequestError, UpstreamError
from core.estimate import estimate_input_tokens
from core.request import DocumentBlock, Message, Request, TextBlock, ThinkingConfig, Tool, ToolUseBlock
from core.testing import Exchange, Framing, MockUpstream, UpstreamAnswer, UpstreamReply, UpstreamToolCall
from tests.core.chat.network import HI, ROUTE, answer, client_of, http, raw_upstream, text
from tests.core.chat.pdfs import bomb, pdf_of

pytestmark = pytest.mark.anyio

SAY = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": None}]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
STREAM = attrs.evolve(HI, stream=True)
SSE = UpstreamAnswer().sse()
JSON = UpstreamAnswer().json()


async def failing(reply: UpstreamReply | UpstreamAnswer, **fields: Any) -> tuple[str, UpstreamError]:
    """The text that came before the error, and the error."""
    chunks: list[Chunk] = []
    async with MockUpstream(reply) as upstream, client_of(upstream.url, **fields) as client:
        with pytest.raises(UpstreamError) as caught:
            await collect(Call(STREAM, ROUTE, client), chunks)
    return text(chunks), caught.value


async def collect(call: Call, into: list[Chunk]) -> None:
    async with call as batches:
        async for batch in batches:
            into += batch


# --- what is sent ---


@pytest.mark.parametrize(
    ("table", "own", "asked", "streams"),
    [
        ("auto", None, True, True),
        ("auto", None, False, False),
        ("auto", True, False, True),
        ("auto", False, True, False),
        ("always", False, False, True),
        ("never", True, True, False),
    ],
)
async def test_who_decides_whether_the_upstream_streams(
    table: Literal["auto", "always", "never"], own: bool | None, asked: bool, streams: bool
) -> None:
    chunks: list[Chunk] = []
    async with MockUpstream() as upstream, client_of(upstream.url, stream=table) as client:
        await collect(Call(attrs.evolve(HI, stream=asked), ROUTE, client, stream=own), chunks)
    sent = upstream.exchanges[0].json
    assert (sent["stream"], "stream_options" in sent) == (streams, streams)
    assert (text(chunks), len(chunks) > 1) == ("Hello.", streams)


async def test_model_table_and_dialect_are_in_the_body() -> None:
    fields = {"dialect": {"max_tokens_field": "max_completion_tokens"}, "extra_body": {"seed": 1, "a": {"b": 2}}}
    async with MockUpstream() as upstream, client_of(upstream.url, **fields) as client:
        call = Call(attrs.evolve(HI, max_tokens=5), ROUTE, client, Dialect(extra={"a": {"c": 3}}))
        async with call as batches:
            assert [batch async for batch in batches]
    assert upstream.exchanges[0].json == {
        "model": "upstream-model",
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 5,
        "stream": False,
        "a": {"c": 3, "b": 2},
        "seed": 1,
    }


async def test_a_wrapper_may_change_it() -> None:
    async with MockUpstream() as upstream, MockUpstream() as other, client_of(upstream.url) as client:
        call = Call(HI, ROUTE, client)
        changed = attrs.evolve(call, request=attrs.evolve(HI, max_tokens=7), stream=True, url=other.url)
        for one in (changed, call):
            async with one as batches:
                assert [batch async for batch in batches]
    assert [exchange.json["stream"] for exchange in upstream.exchanges] == [False]
    assert [exchange.json["max_tokens"] for exchange in other.exchanges] == [7]


async def test_what_is_to_be_waited_for_changes_the_request_in_turn() -> None:
    seen: list[tuple[int | None, str]] = []

    async def double(request: Request, dialect: Dialect) -> Request:
        await anyio.lowlevel.checkpoint()
        seen.append((request.max_tokens, dialect.images))
        return attrs.evolve(request, max_tokens=2 * (request.max_tokens or 1))

    async def refuse(request: Request, dialect: Dialect) -> Request:
        raise RequestError("not this")

    async with MockUpstream() as upstream, client_of(upstream.url, dialect={"images": "data"}) as client:
        call = Call(attrs.evolve(HI, max_tokens=3), ROUTE, client, prepare=(double, double))
        assert seen == []
        async with call as batches:
            assert [batch async for batch in batches]
        with pytest.raises(RequestError, match="not this"):
            await attrs.evolve(call, prepare=(*call.prepare, refuse)).__aenter__()
    assert seen == [(3, "data"), (6, "data")] * 2
    assert [exchange.json["max_tokens"] for exchange in upstream.exchanges] == [12]


async def test_nothing_is_sent_before_it_is_entered_nor_for_what_cannot_be_said() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    cases = [
        (attrs.evolve(HI, stop_sequences=tuple("12345")), "stop_sequences: "),
        (
            attrs.evolve(HI, messages=(Message("assistant", (ToolUseBlock("c", "f", deep),)),)),
            "messages.0.content.0.input: ",
        ),
        (attrs.evolve(HI, tools=(Tool("f", deep),)), "the request cannot be sent on"),
    ]
    async with MockUpstream() as upstream, client_of(upstream.url) as client:
        for request, said in cases:
            call = Call(request, ROUTE, client)
            with pytest.raises(RequestError) as caught:
                await call.__aenter__()
            assert caught.value.message.startswith(said)
    assert upstream.exchanges == []


# --- documents ---


def with_pdf(data: bytes, **fields: Any) -> Request:
    """A request that holds the PDF."""
    document = DocumentBlock("application/pdf", data=b64encode(data).decode())
    return attrs.evolve(HI, messages=(Message("user", (document, TextBlock("Sum up"))),), **fields)


async def test_the_text_of_a_pdf_is_sent_and_read_once() -> None:
    async with MockUpstream() as upstream, client_of(upstream.url) as client:
        read = client.documents._read
        for _ in range(2):
            await collect(Call(with_pdf(pdf_of("Hello")), ROUTE, client), [])
            client.documents._read = never
        client.documents._read = read
    assert [exchange.json["messages"][0]["content"] for exchange in upstream.exchanges] == ["Hello\n\nSum up"] * 2
    assert upstream.connections == 1


async def never(_: bytes) -> str:
    raise AssertionError("read twice")


async def test_a_pdf_that_cannot_be_read_is_refused_and_one_for_an_engine_with_files_is_not() -> None:
    request = with_pdf(b"no")
    async with MockUpstream() as upstream, client_of(upstream.url) as client:
        with pytest.raises(
            RequestError, match=r"^messages\.0\.content\.0\.source: this document cannot be read as a PDF"
        ):
            await Call(request, ROUTE, client).__aenter__()
        await collect(Call(request, ROUTE, client, Dialect(files=True)), [])
    assert [part["type"] for part in upstream.exchanges[0].json["messages"][0]["content"]] == ["file", "text"]


async def test_a_slow_pdf_holds_up_nobody_and_ends_with_its_client() -> None:
    async with (
        MockUpstream() as upstream,
        client_of(upstream.url) as client,
        client_of(upstream.url) as other,
        anyio.create_task_group() as group,
    ):
        group.start_soon(Call(with_pdf(bomb(400_000, 8)), ROUTE, client).__aenter__)
        started = time.monotonic()
        for _ in range(20):
            await answer(other)
        assert time.monotonic() - started < 2
        assert client.documents._flights
        group.cancel_scope.cancel()
    assert not client.documents._flights


# --- counting ---


@pytest.mark.parametrize(("data", "asked"), [(pdf_of("Hello"), ["Hello\n\nSum up"]), (b"no", [])])
async def test_a_count_sends_the_text_of_a_pdf_and_never_fails(data: bytes, asked: list[str]) -> None:
    request = with_pdf(data, task="count_tokens")
    chunks: list[Chunk] = []
    async with MockUpstream(UpstreamReply.json({"count": 42})) as upstream, client_of(upstream.url) as client:
        await collect(Call(request, ROUTE, client, Dialect(count="tokenize")), chunks)
    assert [exchange.json["messages"][0]["content"] for exchange in upstream.exchanges] == asked
    assert chunks == [{"usage": {"prompt_tokens": 42 if asked else estimate_input_tokens(request)}}]


async def test_a_count_does_not_wait_long_for_the_text_of_a_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.call.READING", 0.01)
    request = with_pdf(bomb(400_000, 8), task="count_tokens")
    chunks: list[Chunk] = []
    async with client_of("http://host") as client:
        await collect(Call(request, ROUTE, client, Dialect(count="tokenize")), chunks)
    assert chunks == [{"usage": {"prompt_tokens": estimate_input_tokens(request)}}]


async def test_a_count_asks_the_tokenizer_with_the_body_of_the_message() -> None:
    schema = {"type": "object", "properties": {}}
    asked = attrs.evolve(HI, tools=(Tool("f", schema),), thinking=ThinkingConfig("disabled"))
    dialect = Dialect(count="tokenize", thinking_off={"chat_template_kwargs": {"enable_thinking": False}})
    counted = UpstreamReply.json({"count": 42})
    async with MockUpstream(UpstreamAnswer(), counted) as upstream, client_of(upstream.url) as client:
        call = Call(asked, ROUTE, client, dialect)
        await collect(call, [])
        chunks: list[Chunk] = []
        await collect(attrs.evolve(call, request=attrs.evolve(asked, task="count_tokens")), chunks)
    message, count = upstream.exchanges
    assert chunks == [{"usage": {"prompt_tokens": 42}}]
    assert (message.path, count.path) == ("/v1/chat/completions", "/tokenize")
    for field in ("model", "messages", "tools", "chat_template_kwargs"):
        assert count.json[field] == message.json[field]


async def test_a_count_without_a_tokenizer_asks_nobody() -> None:
    chunks: list[Chunk] = []
    async with MockUpstream() as upstream, client_of(upstream.url) as client:
        await collect(Call(attrs.evolve(HI, task="count_tokens"), ROUTE, client), chunks)
    assert upstream.exchanges == []
    assert chunks == [{"usage": {"prompt_tokens": estimate_input_tokens(HI)}}]


async def test_a_backend_s_table_may_say_how_to_count() -> None:
    chunks: list[Chunk] = []
    reply = UpstreamReply.json({"input_tokens": 42})
    async with (
        MockUpstream(reply) as upstream,
        client_of(upstream.url, dialect={"count": "input_tokens"}, stream="always") as client,
    ):
        await collect(Call(attrs.evolve(HI, task="count_tokens"), ROUTE, client), chunks)
    assert chunks == [{"usage": {"prompt_tokens": 42}}]
    assert "stream" not in upstream.exchanges[0].json


# --- what comes back ---


async def test_after_the_finish_reason_the_rest_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.call.LAST_WORDS", 0.05)
    reply = UpstreamReply.sse([SAY, END], framing=Framing(done=False), hold=anyio.Event())
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        with anyio.fail_after(2):
            async with Call(STREAM, ROUTE, client) as batches:
                chunks = [chunk async for batch in batches for chunk in batch]
        await upstream.exchanges[0].peer_closed()
    assert chunks == [SAY, END]


async def test_last_words_have_an_end_also_when_comments_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.call.LAST_WORDS", 0.05)

    async def comments(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\n\r\n" + b"".join(b"data: %b\n\n" % json.dumps(c).encode() for c in (SAY, END))
        )
        with suppress(ConnectionError):
            while True:
                writer.write(b": alive\n\n" * 100)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(comments, "127.0.0.1", 0) as server:
        url = "http://{}:{}/v1".format(*server.sockets[0].getsockname())
        async with client_of(url) as client:
            with anyio.fail_after(5):
                async with Call(STREAM, ROUTE, client) as batches:
                    chunks = [chunk async for batch in batches for chunk in batch]
    assert chunks == [SAY, END]


async def test_last_words_are_over_before_silence_is_a_fault() -> None:
    reply = UpstreamReply.sse([SAY, END], framing=Framing(done=False), hold=anyio.Event())
    async with MockUpstream(reply) as upstream, client_of(upstream.url, read_timeout=0.2) as client:
        began = anyio.current_time()
        async with Call(STREAM, ROUTE, client) as batches:
            chunks = [chunk async for batch in batches for chunk in batch]
        assert anyio.current_time() - began < 5
    assert chunks == [SAY, END]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("body_of", ["sse", "json"])
async def test_the_client_gets_its_own_names_of_tools(stream: bool, body_of: str) -> None:
    long = "mcp__server__" + "x" * 80
    asked = attrs.evolve(HI, tools=(Tool(long, {"type": "object"}), Tool("f", {"type": "object"})), stream=stream)

    def step(exchange: Exchange) -> UpstreamReply:
        calls = tuple(
            UpstreamToolCall(tool["function"]["name"], '{"a": 1}', f"c{number}")
            for number, tool in enumerate(exchange.json["tools"])
        )
        return UpstreamReply.answer(UpstreamAnswer(text=None, tool_calls=calls), stream=body_of == "sse")

    chunks: list[Chunk] = []
    async with MockUpstream(step) as upstream, client_of(upstream.url) as client:
        await collect(Call(asked, ROUTE, client, Dialect(tool_name_limit=64)), chunks)
    sent = [tool["function"]["name"] for tool in upstream.exchanges[0].json["tools"]]
    assert len(sent[0]) <= 64
    deltas = [the_delta(the_choice(chunk)) for chunk in chunks]
    got = [call["function"].get("name") for delta in deltas for call in delta.get("tool_calls", ())]
    assert [name for name in got if name] == [long, "f"]


@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("body", [SSE, JSON])
async def test_bodies_of_both_forms_and_framings(body: bytes, chunked: bool, cut: int) -> None:
    async with (
        MockUpstream(UpstreamReply(body, chunked=chunked, cut=cut)) as upstream,
        client_of(upstream.url) as client,
    ):
        assert text(await answer(client)) == "Hello."


@pytest.mark.parametrize("body", [SSE, JSON])
async def test_a_body_that_ends_with_its_connection(body: bytes) -> None:
    async with raw_upstream(lambda *_: http(body, "connection: close", length=False)) as url, client_of(url) as client:
        assert text(await answer(client)) == "Hello."


@pytest.mark.parametrize("body", [SSE, JSON])
async def test_a_compressed_body(body: bytes) -> None:
    reply = UpstreamReply(gzip.compress(body), headers={"content-encoding": "gzip"}, cut=11)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        for _ in range(2):
            assert text(await answer(client)) == "Hello."
    assert upstream.connections == 1


async def test_a_body_that_is_not_what_it_is_said_to_be() -> None:
    error = (await failing(UpstreamReply(b"no gzip", headers={"content-encoding": "gzip"})))[1]
    assert error.status == 502


async def test_what_one_read_brings_comes_together_and_at_once() -> None:
    gate = anyio.Event()
    first = Framing(done=False).stream([SAY, SAY])
    reply = UpstreamReply(first + Framing().stream([END]), hold=gate, hold_at=len(first))
    async with (
        MockUpstream(reply) as upstream,
        client_of(upstream.url) as client,
        Call(STREAM, ROUTE, client) as batches,
    ):
        assert await anext(batches) == [SAY, SAY]
        gate.set()
        assert await anext(batches) == [END]
        with pytest.raises(StopAsyncIteration):
            await anext(batches)


# --- how it ends ---


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("stream", [True, False])
async def test_the_connection_is_kept_after_a_whole_answer(stream: bool, done: bool) -> None:
    whole = UpstreamAnswer(framing=Framing(done=done))
    async with MockUpstream(whole) as upstream, client_of(upstream.url) as client:
        for _ in range(25):
            assert text(await answer(client, stream=stream)) == "Hello."
    assert (upstream.connections, len(upstream.exchanges)) == (1, 25)


async def test_done_is_the_end_though_the_connection_is_held_open() -> None:
    reply = UpstreamReply.sse([SAY, END], hold=anyio.Event())
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        began = time.monotonic()
        chunks = []
        async with Call(STREAM, ROUTE, client) as batches:
            async for batch in batches:
                chunks += batch
            assert time.monotonic() - began < 0.2
        assert time.monotonic() - began < 1.0
        await upstream.exchanges[0].peer_closed()
    assert chunks == [SAY, END]


@pytest.mark.parametrize("stream", [True, False])
async def test_leaving_after_the_first_bytes_closes_the_connection_at_once(stream: bool) -> None:
    body = SSE if stream else JSON
    reply = UpstreamReply(body, hold=anyio.Event(), hold_at=len(body) // 2)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        with anyio.move_on_after(5) as scope:
            async with Call(HI, ROUTE, client, stream=stream) as batches:
                if stream:
                    assert await anext(batches)
                left = time.monotonic()
        assert not scope.cancelled_caught
        assert await upstream.exchanges[0].peer_closed() - left < 0.5


@pytest.mark.parametrize("when", ["before the head", "before the first chunk", "amid the stream"])
async def test_cancellation_closes_the_connection_at_once(when: str) -> None:
    never = anyio.Event()
    reply = {
        "before the head": UpstreamReply(SSE, hold_head=never),
        "before the first chunk": UpstreamReply(SSE, hold=never, hold_at=0),
        "amid the stream": UpstreamReply(SSE, hold=never, hold_at=len(SSE) // 2),
    }[when]
    began = anyio.Event()

    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:

        async def run() -> None:
            async with Call(STREAM, ROUTE, client) as batches:
                async for _ in batches:
                    began.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            exchange = await upstream.exchange()
            if when == "amid the stream":
                await began.wait()
            left = time.monotonic()
            tasks.cancel_scope.cancel()
        assert await exchange.peer_closed() - left < 0.5


async def read_and_fail(call: Call) -> None:
    async with call as batches:
        async for _ in batches:
            raise LookupError


async def test_an_exception_in_the_midst_closes_it_too() -> None:
    reply = UpstreamReply(SSE, hold=anyio.Event(), hold_at=len(SSE) // 2)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        with pytest.raises(LookupError):
            await read_and_fail(Call(STREAM, ROUTE, client))
        await upstream.exchanges[0].peer_closed()


# --- what goes wrong ---


async def test_a_refusal_is_raised_on_entering() -> None:
    async with (
        MockUpstream(UpstreamReply.json({"error": "no"}, status=429)) as upstream,
        client_of(upstream.url) as client,
    ):
        with pytest.raises(UpstreamError, match="no") as caught:
            await Call(STREAM, ROUTE, client).__aenter__()
    assert caught.value.status == 429


async def test_an_error_in_the_stream_comes_after_the_chunks_before_it() -> None:
    said, error = await failing(UpstreamReply.sse([SAY, {"error": {"message": "words", "code": 503}}]))
    assert (said, error.message, error.kind) == ("Hello.", "words", "overloaded")


async def test_an_error_in_the_stream_tells_no_address() -> None:
    def step(_: Any) -> UpstreamReply:
        return UpstreamReply.sse([{"error": f"no worker at {upstream.root}"}])

    async with MockUpstream(step) as upstream, client_of(upstream.url) as client:
        with pytest.raises(UpstreamError, match=r"^no worker at \[hidden\]$"):
            await answer(client)


@pytest.mark.parametrize("end", ["reset", "close"])
async def test_a_stream_that_breaks_off_is_an_error_after_its_chunks(end: Literal["reset", "close"]) -> None:
    gate = anyio.Event()
    reply = UpstreamReply.sse([SAY], framing=Framing(done=False), end=end, hold=gate)
    async with (
        MockUpstream(reply) as upstream,
        client_of(upstream.url) as client,
        Call(STREAM, ROUTE, client) as batches,
    ):
        assert await anext(batches) == [SAY]
        gate.set()
        with pytest.raises(UpstreamError) as caught:
            await anext(batches)
    assert (caught.value.status, caught.value.message) == (502, "the upstream broke the connection")


@pytest.mark.parametrize("tail", [[], ['{"choices": []']])
@pytest.mark.parametrize("end", ["close", "ok"])
async def test_a_break_after_the_finish_reason_costs_nothing(end: Literal["close", "ok"], tail: list[str]) -> None:
    body = Framing(done=False).stream([SAY, END, *tail]).rstrip(b"\n")
    reply = UpstreamReply(body, end=end)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        assert await answer(client, stream=True) == [SAY, END]


async def test_a_break_behind_done_costs_nothing_either() -> None:
    gate = anyio.Event()
    reply = UpstreamReply.sse([SAY, END], hold=gate, end="reset")
    chunks: list[Chunk] = []
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        async with Call(STREAM, ROUTE, client) as batches:
            async for batch in batches:
                chunks += batch
            gate.set()
        assert text(await answer(client, stream=True)) == "Hello."
    assert chunks == [SAY, END]


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_cut_off_is_an_error(chunked: bool) -> None:
    reply = UpstreamReply(JSON, stop_after=len(JSON) - 5, end="close", chunked=chunked)
    assert (await failing(reply))[1].status == 502


async def test_silence_in_the_midst_is_a_timeout() -> None:
    reply = UpstreamReply.sse([SAY], framing=Framing(done=False), hold=anyio.Event())
    said, error = await failing(reply, first_timeout=0.1, read_timeout=0.1)
    assert (said, error.kind, error.message) == ("Hello.", "timeout", "the upstream was silent for too long")


async def test_half_an_event_at_the_end() -> None:
    said, error = await failing(
        UpstreamReply(Framing(done=False).stream([SAY]) + b'data: {"choi', content_type="text/event-stream")
    )
    assert (said, error.message) == ("Hello.", "the upstream's answer was cut off")


async def test_an_answer_with_nothing_in_it_gives_no_chunk() -> None:
    nothing = http(b"", status="204 No Content", length=False)
    async with raw_upstream(lambda *_: nothing) as url, client_of(url) as client:
        assert await answer(client) == []


async def test_non_ascii_goes_both_ways() -> None:
    said = "Grüße 👍 \u2028"
    async with MockUpstream(UpstreamAnswer(text=said)) as upstream, client_of(upstream.url) as client:
        request = attrs.evolve(HI, messages=(Message("user", (TextBlock(said),)),))
        async with Call(request, ROUTE, client) as batches:
            assert text([chunk async for batch in batches for chunk in batch]) == said
    assert json.loads(upstream.exchanges[0].body)["messages"][0]["content"] == said


# --- in the engine's own way ---

PROBLEM = ProblemField("problem", message="why", word="kind", retry_after="retry-in")
FULL = {"problem": {"why": "full at sesame-open", "kind": "overloaded"}}
WAIT = {"retry-in": "7"}


@pytest.mark.parametrize(
    "reply",
    [
        UpstreamReply.json(FULL, status=503, headers=WAIT),
        UpstreamReply.json(FULL, headers=WAIT),
        UpstreamReply.sse([FULL], headers=WAIT),
    ],
)
async def test_its_errors_are_read_and_hidden_wherever_they_are(reply: UpstreamReply) -> None:
    async with MockUpstream(reply) as upstream, client_of(upstream.url, key=Secret("sesame-open")) as client:
        with pytest.raises(UpstreamError) as caught:
            await answer(client, problem=PROBLEM)
    assert (caught.value.message, caught.value.kind, caught.value.retry_after) == ("full at [hidden]", "overloaded", 7)


# --- a call that begins another ---


@attrs.frozen(eq=False)
class Twice(Call):
    """Sends two requests; what it gives are the second's chunks, told through a generator of its own."""

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        await Call.begin(attrs.evolve(self, dialect=Dialect(extra={"try": 1})))
        return self._told(await Call.begin(attrs.evolve(self, dialect=Dialect(extra={"try": 2}))))

    async def _told(self, reads: AsyncIterator[list[Chunk]]) -> AsyncIterator[list[Chunk]]:
        async for chunks in reads:
            yield chunks


@attrs.frozen(eq=False)
class Once(Twice):
    """The first of them alone is sent; then it fails."""

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        await Call.begin(attrs.evolve(self))
        raise LookupError


async def test_what_copies_of_a_call_begin_ends_with_it() -> None:
    reply = UpstreamReply(SSE, hold=anyio.Event(), hold_at=len(SSE) // 2)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        async with Twice(STREAM, ROUTE, client) as batches:
            assert await anext(batches)
            assert [exchange.json["try"] for exchange in upstream.exchanges] == [1, 2]
        for exchange in upstream.exchanges:
            assert await exchange.peer_closed()


async def test_what_was_begun_is_closed_when_the_call_cannot_be_entered() -> None:
    reply = UpstreamReply(SSE, hold=anyio.Event(), hold_at=len(SSE) // 2)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        with pytest.raises(LookupError):
            await Once(STREAM, ROUTE, client).__aenter__()
        assert await upstream.exchanges[0].peer_closed()


async def test_copies_made_before_are_calls_of_their_own() -> None:
    reply = UpstreamReply(SSE, hold=anyio.Event(), hold_at=len(SSE) - 1)
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        call = Call(STREAM, ROUTE, client)
        async with attrs.evolve(call) as first:
            async with attrs.evolve(call) as second:
                assert await anext(second)
            assert await upstream.exchanges[1].peer_closed()
            assert await anext(first)
            assert not upstream.exchanges[0].outcome
