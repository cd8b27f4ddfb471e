from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import attrs
import pytest
from structlog.testing import capture_logs

from core import Answer, Chunk, GatewayError, HTTPRequest, Page, Request, RequestError, UpstreamError, hookimpl
from core.config import ServerConfig
from core.gateway import going
from tests.core.fakes import Collected, Prompt, Script, TextAnswer, gateway

pytestmark = pytest.mark.anyio


def plays(*batches: list[Chunk] | Exception) -> Script:
    async def script() -> AsyncIterator[list[Chunk]]:
        for batch in batches:
            if isinstance(batch, Exception):
                raise batch
            yield batch

    return script


async def ask(path: str, *batches: list[Chunk] | Exception, **how: Any) -> tuple[Collected, list[str]]:
    served, upstream = gateway(plays(*batches))
    sink = Collected()
    path, _, query = path.partition("?")
    await served.handle(HTTPRequest("POST", path, query=query.encode(), id="req_1"), sink, **how)
    return sink, upstream.log


HELLO: list[Chunk] = [{"text": "hel"}, {"text": "lo"}]


async def test_stream_sends_each_batch_at_once_and_the_end_with_the_last() -> None:
    sink, log = await ask("/api/stream", HELLO, [{"text": "!", "end": True}])
    assert (sink.status, sink.pieces, sink.ended) == (200, [b"hello", b"!", b"<end_turn>"], True)
    assert log == ["open", "closed"]


async def test_whole_answer_is_one_piece() -> None:
    sink, _ = await ask("/api/say", HELLO, [{"end": True}])
    assert (sink.pieces, sink.headers) == (
        [b"hello<end_turn>"],
        ((b"x-kind", b"answer"), (b"x-hookline-backend", b"b")),
    )


async def test_held_text_comes_before_the_end() -> None:
    sink, _ = await ask("/api/stream", [{"text": "a~b", "end": True}])
    assert sink.body == b"ab<end_turn>"


async def test_an_early_stop_closes_the_call_and_nothing_after_it_counts() -> None:
    sink, log = await ask("/api/stream", [{"text": "a", "now": True}, {"text": "lost"}], [{"text": "never"}])
    assert sink.body == b"a<stop_sequence>"
    assert log == ["open", "closed"]


@pytest.mark.parametrize("path", ["/api/stream", "/api/say"])
async def test_an_answer_without_its_end_is_an_error(path: str) -> None:
    sink, _ = await ask(path, [{"text": "half~ held"}])
    assert sink.ended
    assert b"!api: the upstream's answer broke off before its end" in sink.body
    assert (sink.status, sink.body.startswith(b"half held!")) == ((200, True) if "stream" in path else (502, False))


async def test_a_told_error_keeps_nothing_of_its_request() -> None:
    error, cause = UpstreamError("broken"), OSError("the wire")
    try:
        raise cause
    except OSError:
        error.__cause__ = cause
    sink, _ = await ask("/api/say", error)
    assert sink.status == 500
    assert (error.__traceback__, cause.__traceback__) == (None, None)


async def test_a_count_has_no_end_to_wait_for() -> None:
    sink, log = await ask("/api/count", [{"text": "42"}])
    assert (sink.status, sink.body, log) == (200, b"42", ["open", "closed"])


async def test_a_count_that_fails_is_an_error() -> None:
    sink, _ = await ask("/api/count", UpstreamError("slow down", kind="rate_limit"))
    assert (sink.status, sink.body) == (429, b"!rate_limit: slow down")


async def test_an_error_after_text_delivers_what_was_held_and_then_fails() -> None:
    sink, log = await ask("/api/stream", [{"text": "a~b", "end": True}], UpstreamError("boom", kind="overloaded"))
    assert sink.body == b"ab!overloaded: boom"
    assert log == ["open", "closed"]


async def test_an_error_before_text_has_its_own_status() -> None:
    sink, _ = await ask("/api/stream", UpstreamError("slow down", kind="rate_limit"))
    assert (sink.status, sink.body) == (429, b"!rate_limit: slow down")


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/api/refuse", 400, b"!invalid_request: refuse: no"),
        ("/api/nobody", 404, b"!not_found: /api/nobody: there is nothing here"),
        ("/api/say?none", 404, b"!not_found: model: none"),
        ("/api/say?lost", 404, b"!not_found: model: lost goes to a backend that is not here"),
    ],
)
async def test_refusals(path: str, status: int, body: bytes) -> None:
    sink, log = await ask(path)
    assert (sink.status, sink.body, log) == (status, body, [])


async def test_a_refusal_from_outside_is_served_in_the_clients_envelope() -> None:
    sink, log = await ask("/api/say", refusal=RequestError("too much", kind="too_large"))
    assert (sink.status, sink.body, log) == (413, b"!too_large: too much", [])


async def test_a_path_of_nobody_is_refused_by_the_first_pipeline() -> None:
    sink, _ = await ask("/elsewhere/nobody")
    assert sink.status == 404
    assert sink.body == b"!not_found: /elsewhere/nobody: there is nothing here; this server's paths begin with /api"


async def test_a_fault_tells_the_log_everything_and_the_client_nothing() -> None:
    with capture_logs() as logs:
        sink, _ = await ask("/api/crash")
    assert sink.status == 500
    assert b"secret" not in sink.body
    assert b"req_1" in sink.body
    fault = next(line for line in logs if line["event"] == "fault")
    assert fault["notes"] == ["in parse of plugin 'Front', pipeline 'p'"]


async def test_head_of_the_root_answers_without_a_body() -> None:
    served, _ = gateway(plays())
    sink = Collected()
    await served.handle(HTTPRequest("HEAD", "/"), sink)
    assert (sink.status, sink.body, sink.ended) == (200, b"", True)


async def test_the_whole_time_is_limited() -> None:
    async def stuck() -> AsyncIterator[list[Chunk]]:
        yield [{"text": "a"}]
        await anyio.sleep_forever()

    served, upstream = gateway(stuck, total_timeout=0.05)
    sink = Collected()
    await served.handle(HTTPRequest("POST", "/api/stream"), sink)
    assert sink.body == b"a!timeout: the answer was not complete after 0.05 seconds"
    assert upstream.log == ["open", "closed"]


async def test_a_client_that_leaves_closes_the_call_and_is_noted() -> None:
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        reached.set()
        await anyio.sleep_forever()
        yield []

    served, upstream = gateway(stuck)
    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(served.handle, HTTPRequest("POST", "/api/stream"), Collected())
            await reached.wait()
            group.cancel_scope.cancel()
    assert upstream.log == ["open", "closed"]
    assert [line["left"] for line in logs] == [True]


async def test_one_line_per_request_says_who_what_and_how_it_ended() -> None:
    with capture_logs() as logs:
        await ask("/api/stream?m", HELLO, [{"end": True}])
    (line,) = logs
    wanted = {"event": "request", "model": "m", "backend": "b", "upstream_model": "up", "stop_reason": "end_turn"}
    assert wanted.items() <= line.items()
    assert line["first_ms"] >= line["accepted_ms"] >= 0


async def test_the_longest_mount_wins() -> None:
    served, _ = gateway(plays([{"end": True}]))
    (pipeline,) = served.loaded.pipelines
    outer = attrs.evolve(pipeline, name="outer", paths=("/a",))
    inner = attrs.evolve(pipeline, name="inner", paths=("/a/b",))
    both = Prompt(attrs.evolve(served.loaded, pipelines=(outer, inner)))
    with capture_logs() as logs:
        for path in ("/a/b/say", "/a/say", "/a/bc/say"):
            await both.handle(HTTPRequest("POST", path), Collected())
    assert [line["pipeline"] for line in logs if line["event"] == "request"] == ["inner", "outer", "outer"]


async def test_running_enters_and_leaves_each_plugins_lifespan() -> None:
    events: list[str] = []

    class Lives:
        @hookimpl
        def lifespan(self) -> Any:
            @asynccontextmanager
            async def life() -> AsyncIterator[None]:
                events.append("in")
                yield
                events.append("out")

            return life()

    served, _ = gateway(plays(), Lives())
    async with served.running():
        assert events == ["in"]
    assert events == ["in", "out"]


class Broken(TextAnswer):
    """A writer whose `fail` is at fault too."""

    def fail(self, error: GatewayError) -> bytes:
        raise RuntimeError(f"secret {error.kind}")


@pytest.mark.parametrize("path", ["/api/say", "/api/stream"])
async def test_a_broken_writer_still_gives_an_answer_that_tells_nothing(path: str) -> None:
    class Writes:
        @hookimpl
        def serialize(self, http: HTTPRequest, request: Request | None) -> Answer:
            return Broken(http, request is not None and request.stream)

    served, _ = gateway(plays([{"text": "a"}], UpstreamError("no")))
    (pipeline,) = served.loaded.pipelines
    pipeline.manager.register(Writes(), name="writes")
    sink = Collected()
    with capture_logs() as logs:
        await served.handle(HTTPRequest("POST", path, id="req_1"), sink)
    assert sink.ended
    assert b"secret" not in sink.body
    assert (sink.status, sink.body) == ((200, b"a") if "stream" in path else (500, sink.body))
    assert b"req_1" in sink.body or "stream" in path
    assert [line["event"] for line in logs] == ["fault", "request"]


async def silent() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "a"}]
    await anyio.sleep_forever()


async def test_silence_has_a_limit_of_its_own() -> None:
    served, upstream = gateway(silent, read_timeout=0.02)
    sink = Collected()
    await served.handle(HTTPRequest("POST", "/api/stream"), sink)
    assert sink.body == b"a!timeout: the upstream was silent for 0.02 seconds"
    assert upstream.log == ["open", "closed"]


@pytest.mark.parametrize("path", ["/api/stream", "/api/say"])
async def test_an_answer_that_does_not_begin_is_a_true_504(path: str) -> None:
    async def never() -> AsyncIterator[list[Chunk]]:
        yield [{}]
        await anyio.sleep_forever()

    served, upstream = gateway(never, first_timeout=0.02)
    sink = Collected()
    await served.handle(HTTPRequest("POST", path), sink)
    said = b"!timeout: the upstream's answer did not begin within 0.02 seconds"
    assert (sink.status, sink.body, upstream.log) == (504, said, ["open", "closed"])


async def test_life_is_shown_while_the_upstream_is_silent() -> None:
    pinged = anyio.Event()

    class Hears(Collected):
        async def send(self, data: bytes, more: bool) -> None:
            await super().send(data, more)
            if self.pieces.count(b".") == 2:
                pinged.set()

    async def slow() -> AsyncIterator[list[Chunk]]:
        await pinged.wait()
        yield [{"text": "a", "end": True}]

    served, _ = gateway(slow, server=ServerConfig(ping_interval=0.005))
    sink = Hears()
    with anyio.fail_after(5):
        await served.handle(HTTPRequest("POST", "/api/stream"), sink)
    assert (sink.pieces[:2], sink.pieces[-2:]) == ([b".", b"."], [b"a", b"<end_turn>"])


@pytest.mark.parametrize(("path", "status"), [("/api/stream", 200), ("/api/say", 529)])
@pytest.mark.parametrize("taken_away", [False, True])
async def test_a_server_that_goes_says_so(path: str, status: int, taken_away: bool) -> None:
    """By its own limit of draining, and when its task is taken away while the client is still there."""
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        yield [{"text": "a"}]
        reached.set()
        await anyio.sleep_forever()

    served, upstream = gateway(stuck)
    sink = Collected(gone=False)
    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(served.handle, HTTPRequest("POST", path), sink)
            await reached.wait()
            if taken_away:
                group.cancel_scope.cancel()
            else:
                served.interrupt(going())
    assert (sink.status, sink.ended, upstream.log) == (status, True, ["open", "closed"])
    assert sink.body.removeprefix(b"a") == b"!overloaded: the server is shutting down"
    assert [(line["error"], "left" in line) for line in logs] == [("overloaded", False)]


class Shows:
    """A page at /page, a broken one at /bad."""

    @hookimpl
    def page(self, http: HTTPRequest) -> Page | None:
        if http.path == "/bad":
            raise ValueError("secret")
        return Page(b"here", "text/html") if http.path == "/page" else None


async def test_a_plugin_s_page_is_served_without_a_record() -> None:
    served, _ = gateway(plays(), front=[Shows()])
    found = {}
    with capture_logs() as logs:
        for path in ("/page", "/bad", "/elsewhere"):
            found[path] = sink = Collected()
            await served.handle(HTTPRequest("GET", path), sink)
            assert sink.ended
    assert (found["/page"].status, found["/page"].body) == (200, b"here")
    assert found["/page"].headers == [(b"content-type", b"text/html")]
    assert (found["/bad"].status, b"secret" in found["/bad"].body) == (500, False)
    assert found["/elsewhere"].status == 404
    assert [line["event"] for line in logs] == ["fault", "request"]
