"""The rules of the call: when it sends, what it raises, and that it ends what it began."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import anyio
import attrs
import httpx

from core.errors import UpstreamError
from core.pipeline import Back
from core.testing.answers import dump
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.direct import ROUTE, asking
from core.testing.kit.engine import piece
from core.testing.kit.expect import same
from core.testing.kit.rule import Rule, rule, unless
from core.testing.kit.upstream import Upstream


def _drive(bench: Bench, upstream: Upstream, work: Callable[[Back], Awaitable[None]], what: str) -> None:
    async def run() -> None:
        back = bench.assembly().back(upstream)
        try:
            with bench.patience.within(f"{what} did not come to an end"):
                await work(back)
        finally:
            await back.client.aclose()

    bench.run(run)


@rule()
def nothing_is_sent_before_the_call_is_entered(bench: Bench) -> None:
    """Making the call sends nothing: wrappers still change it. Entering it sends one request."""
    upstream = bench.upstream(lambda _: [bench.engine.wire(bench.engine.answer(), stream=True)])

    async def work(back: Back) -> None:
        call = back.call_upstream(asking(), ROUTE)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        need(not upstream.asked, "the request was sent before the call was entered")
        async with call as batches:
            need(len(upstream.asked) == 1, f"entering the call sent {len(upstream.asked)} requests, not 1")
            async for _ in batches:
                pass
        need(len(upstream.asked) == 1, f"one answer took {len(upstream.asked)} requests")
        need(upstream.asked[0].closed, "the upstream's answer was left open")

    _drive(bench, upstream, work, "a call")


@rule()
def a_wrapper_can_change_the_call(bench: Bench) -> None:
    """What a wrapper changes by `attrs.evolve(call, request=…, stream=…)` is what is sent."""
    for stream in (True, False):
        upstream = bench.upstream(lambda body: [bench.wire(stream=bool(body.get("stream")))])
        changed = asking("Changed by a wrapper", stream=not stream)

        async def work(back: Back, stream: bool = stream, changed: Any = changed, upstream: Any = upstream) -> None:
            call: Any = back.call_upstream(asking(), ROUTE)
            need(attrs.has(type(call)), f"the call is a {type(call).__name__}, which no wrapper can attrs.evolve")
            async with attrs.evolve(call, request=changed, stream=stream) as batches:
                async for _ in batches:
                    pass
            body = upstream.asked[0].body
            need("Changed by a wrapper" in dump(body), "the request of the evolved call is not the one that was sent")
            same("evolved call", "field `stream`", bool(body.get("stream")), stream)

        _drive(bench, upstream, work, "an evolved call")


@rule(hint=unless(rewrite_error=...))
def a_refusal_is_raised_on_entering(bench: Bench) -> None:
    """Entering the call raises UpstreamError for an HTTP error, with the wait it names, and leaves nothing open."""
    for status, kind in ((400, "invalid_request"), (429, "rate_limit"), (500, "api"), (503, "overloaded")):
        body, headers = bench.engine.failed({"message": "the perch is full"}, status, {"retry-after": "7"})
        upstream = bench.upstream(lambda _, body=body: [body], status, headers)  # type: ignore[misc]

        async def work(back: Back, status: int = status, kind: str = kind, upstream: Any = upstream) -> None:
            entered = False
            try:
                async with back.call_upstream(asking(), ROUTE):
                    entered = True
            except UpstreamError as error:
                same(f"status {status}", "kind", error.kind, kind)
                need(status not in (429, 503) or error.retry_after == 7, f"status {status}: retry_after is lost")
            need(not entered, f"status {status}: the call was entered, so the client would see a 200")
            need(len(upstream.asked) == 1, f"status {status}: {len(upstream.asked)} requests were sent, not 1")
            need(all(asked.closed for asked in upstream.asked), f"status {status}: the upstream's answer was left open")

        _drive(bench, upstream, work, f"a call that is refused with {status}")


@rule()
def leaving_early_ends_the_answer(bench: Bench) -> None:
    """Leaving the call amid its answer, by a break or an exception, closes the upstream's answer."""
    for way in ("break", "exception", "unread"):
        first = bench.engine.stream([piece({"content": "One"})], done=False)
        upstream = bench.upstream(lambda _, first=first: [first, anyio.Event()])  # type: ignore[misc]

        async def work(back: Back, way: str = way, upstream: Any = upstream) -> None:
            try:
                async with back.call_upstream(asking(), ROUTE) as batches:
                    if way != "unread":
                        await anext(aiter(batches))
                    if way == "exception":
                        raise LookupError  # noqa: TRY301  what a user of the call might do
            except LookupError:
                pass
            else:
                need(way != "exception", "the call swallowed an exception of its user's")
            need(upstream.asked[0].closed, f"leaving the call ({way}) left the upstream's answer open")

        _drive(bench, upstream, work, f"leaving the call ({way})")


@rule()
def a_cancelled_call_still_closes(bench: Bench) -> None:
    """Where the request's task is cancelled, the call closes the upstream's answer although closing takes a moment."""
    first = bench.engine.stream([piece({"content": "One"})], done=False)
    upstream = _SlowToClose(lambda _: [first, anyio.Event()])

    async def use(back: Back) -> None:
        async with back.call_upstream(asking(), ROUTE) as batches:
            async for _ in batches:
                pass

    async def work(back: Back) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(use, back)
            with bench.patience.within("the request did not get under way"):
                await upstream.begun.wait()
            tasks.cancel_scope.cancel()
        need(upstream.closed, "a cancelled call left the upstream's answer open: close it in a shielded scope")

    _drive(bench, upstream, work, "a cancelled call")


@attrs.define(eq=False)
class _SlowToClose(Upstream):
    """Its answers close only when their closing is let go on, which a cancelled task's is not."""

    begun: anyio.Event = attrs.field(factory=anyio.Event)
    closed: bool = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        response.stream = _Slow(self, response.stream)
        return response


@attrs.define(eq=False)
class _Slow(httpx.AsyncByteStream):
    upstream: _SlowToClose
    inner: Any

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self.inner:
            yield data
            self.upstream.begun.set()

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        await self.inner.aclose()
        self.upstream.closed = True


@rule()
def chunks_come_read_by_read(bench: Bench) -> None:
    """The call gives what one network read brought before it waits for the next."""
    reads = [bench.engine.stream([piece({"content": word})], done=False) for word in ("One", "two")]
    gate = anyio.Event

    async def run() -> None:
        held = gate()
        end = bench.engine.stream([piece({}, "stop")], done=True)
        upstream = bench.upstream(lambda _: [reads[0], reads[1], held, end])
        back = bench.assembly().back(upstream)
        got: list[Any] = []
        async with back.call_upstream(asking(), ROUTE) as batches:
            stream = aiter(batches)
            with bench.patience.within("chunks that had arrived were not given, before the upstream went on,"):
                while len(got) < 2:
                    got += await anext(stream)
            held.set()
            async for batch in stream:
                need(isinstance(batch, list), f"the call gave {type(batch).__name__}, not lists of chunks")
        await back.client.aclose()

    bench.run(run)


RULES: Final[tuple[Rule, ...]] = (
    nothing_is_sent_before_the_call_is_entered,
    a_wrapper_can_change_the_call,
    a_refusal_is_raised_on_entering,
    leaving_early_ends_the_answer,
    a_cancelled_call_still_closes,
    chunks_come_read_by_read,
)
