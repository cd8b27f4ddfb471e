"""One request from parse to the last byte; the only place that turns an error into an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import anyio
import structlog

from core.around import Around
from core.attempts import Attempts
from core.balance.budget import RetryBudget
from core.culprit import FAULTS, notes_of
from core.deltas import Stop
from core.errors import GatewayError, RequestError
from core.lives import Lives
from core.loader import Loaded
from core.observers import Observers
from core.outlet import Outlet, Sink
from core.page import Page
from core.pipeline import Pipeline
from core.raised import drop_frames
from core.record import Record
from core.request import HTTPRequest, Request

Body = Callable[[], Awaitable[bytes | None]]

FAREWELL: Final = 2.0
"""Seconds in which a client is told that the server goes."""


def going() -> GatewayError:
    """What a client gets whose request the server cannot finish because it ends itself."""
    return GatewayError("the server is shutting down", kind="overloaded", retry_after=1, should_retry=True)


class Gateway:
    """All pipelines, their backends, and what runs with them."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        mounts = [(path, pipeline) for pipeline in loaded.pipelines for path in pipeline.paths]
        # The longest path first, so that /llm/v1 is not taken for something below /llm.
        self._mounts = sorted(mounts, key=lambda mount: -len(mount[0]))
        self._log = structlog.get_logger()
        self.server = loaded.config.server
        self._budget = RetryBudget()
        self._attempts: set[Attempts] = set()
        self._observers = {each.name: Observers(each) for each in loaded.pipelines}
        self._pages = [pipeline for pipeline in loaded.pipelines if pipeline.answers("page")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Everything that must run while requests are served: the plugins' own parts, and the clients' connections."""
        lives = Lives()
        await lives.start(self.loaded)
        try:
            yield
        finally:
            self.tell()
            await lives.end()

    def tell(self) -> None:
        """Tell plugins that observe what they do not know yet."""
        for each in self._observers.values():
            each.tell()

    async def handle(
        self,
        http: HTTPRequest,
        sink: Sink,
        refusal: GatewayError | None = None,
        body: Body | None = None,
    ) -> None:
        """Serve one request; `http.path` is the whole path. With `refusal` the request is answered by that error.

        `body` reads the request's body, once it is let in; it gives None when the client leaves before its end. Without
        it the body is here already.

        Never raises but for cancellation (the client left, or the server goes) and what `sink` raises.
        """
        if self._pages and http.method == "GET" and await self._page(http, sink):
            return
        pipeline, http, nowhere = self._mounted(http)
        record = Record(http, pipeline=pipeline.name)
        out = Outlet(sink, record, blame=pipeline.blame)
        around = Around(pipeline, http, record)
        observers = self._observers[pipeline.name]
        observers.begun()
        error = refusal or nowhere
        cancelled = True
        try:
            try:
                await self._serve(pipeline, http, out, around, body if error is None else partial(_refuse, error))
            except anyio.get_cancelled_exc_class():
                await self._interrupted(pipeline, http, out)
                raise
            cancelled = False
        except BaseException:
            record.left = sink.gone
            raise
        finally:
            out.drop_ping()
            record.ended = time.monotonic()
            for fault in await around.leave(cancelled=cancelled):
                self._log_fault(record, fault)
            drop_frames(record.error)
            observers.over(record)

    def interrupt(self, error: GatewayError) -> None:
        """End every request that waits for an upstream, or for its turn, with this error."""
        for attempts in list(self._attempts):
            attempts.interrupt(error)

    async def _interrupted(self, pipeline: Pipeline, http: HTTPRequest, out: Outlet) -> None:
        """The server takes the request's task away: its client, if it is still there, is told."""
        if not out.sink.gone:
            with anyio.move_on_after(FAREWELL, shield=True), suppress(OSError):
                await self._fail(pipeline, http, out, going())

    async def _serve(
        self, pipeline: Pipeline, http: HTTPRequest, out: Outlet, around: Around, body: Body | None
    ) -> None:
        record = out.record
        try:
            refusal = await around.enter()
            if http.method == "HEAD" and not (http.mount + http.path).strip("/"):
                # Claude Code opens its connection this way before the first request.
                out.answer = pipeline.serialize(http, None)
                await out.write(b"", last=True)
                return
            if refusal is not None:
                raise refusal
            if body is not None:
                data = await body()
                if data is None:
                    record.left = True
                    return
                record.http = http = http.holding(data)
            record.request = request = _mine(pipeline.parse(http), http)
            out.answer = pipeline.serialize(http, request)
            await self._answer(pipeline, http, request, out)
        except GatewayError as error:
            await self._fail(pipeline, http, out, error)
        except FAULTS as error:  # a plugin's fault is told in the log, never to the client
            self._log_fault(record, error)
            out.translators = None
            said = GatewayError(f"the gateway failed on this request; its log has the details under {http.id}")
            await self._fail(pipeline, http, out, said)

    async def _answer(self, pipeline: Pipeline, http: HTTPRequest, request: Request, out: Outlet) -> None:
        if request.task == "models":
            await out.finish(await pipeline.list_models(http, request))
            return
        route = pipeline.route(http, request)
        if route is None or not route.candidates:
            raise RequestError(f"model: {request.model}", kind="not_found")
        attempts = Attempts(pipeline.backs, http, request, out, self.server.ping_interval, self._budget)
        self._attempts.add(attempts)
        try:
            await attempts.run(route)
        finally:
            self._attempts.discard(attempts)

    async def _fail(self, pipeline: Pipeline, http: HTTPRequest, out: Outlet, error: GatewayError) -> None:
        if out.ended:
            return
        out.record.error = error
        try:
            if out.answer is None:
                out.answer = pipeline.serialize(http, None)
            if out.started and out.translators is not None:
                # The client has seen a part: it gets what was held, too, and then the error instead of an end.
                held, _ = out.translators.flush()
                await out.feed([delta for delta in held if not isinstance(delta, Stop)])
            last = out.say("fail", error)
            if not out.started:
                out.head()
        except FAULTS as fault:  # the writer itself is at fault: no envelope but our own is left
            self._log_fault(out.record, fault)
            await out.last_words(http)
        else:
            await out.write(last, last=True)

    def _log_fault(self, record: Record, fault: BaseException) -> None:
        record.faults += 1
        backend = record.route.backend if record.route is not None else None
        place = {"id": record.http.id, "pipeline": record.pipeline, "backend": backend}
        self._log.error("fault", **place, notes=notes_of(fault), exc_info=fault)

    async def _page(self, http: HTTPRequest, sink: Sink) -> bool:
        """Serve a plugin's own page, if the path is one's; such a request has no record."""
        self.tell()  # whoever looks at numbers shall see those of all that is over
        try:
            page = next((found for pipeline in self._pages if (found := pipeline.page(http)) is not None), None)
        except FAULTS as fault:
            self._log_fault(Record(http), fault)
            page = Page(b"this page failed; the log has the details\n", status=500)
        if page is None:
            return False
        await sink.start(page.status, [(b"content-type", page.content_type.encode())])
        await sink.send(page.body, False)
        return True

    def _mounted(self, http: HTTPRequest) -> tuple[Pipeline, HTTPRequest, RequestError | None]:
        """The pipeline that the path belongs to; a path of nobody's is refused by the first one, in its envelope."""
        for mount, pipeline in self._mounts:
            prefix = mount.rstrip("/")
            if http.path == prefix or http.path.startswith(prefix + "/"):
                return pipeline, http.below(prefix), None
        here = ", ".join(mount for mount, _ in self._mounts)
        error = RequestError(
            f"{http.path}: there is nothing here; this server's paths begin with {here}", kind="not_found"
        )
        return self.loaded.pipelines[0], http, error


async def _refuse(error: GatewayError) -> bytes:
    """In the place of reading a request."""
    raise error


def _mine(request: Request | None, http: HTTPRequest) -> Request:
    if request is None:
        raise RequestError(f"{http.mount}{http.path}: there is nothing here", kind="not_found")
    return request
