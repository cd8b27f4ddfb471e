"""One request from parse to the last byte; the only place that turns an error into an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import structlog

from core.around import Around
from core.culprit import FAULTS, notes_of
from core.cut import Cut
from core.deltas import Stop
from core.errors import GatewayError, RequestError, UpstreamError
from core.hookspecs import UpstreamCall
from core.lives import Lives
from core.loader import Loaded
from core.outlet import Outlet, Sink
from core.page import Page
from core.pipeline import Back, Pipeline
from core.raised import ANYTHING, drop_frames, leaves, raise_fault
from core.record import Record
from core.request import HTTPRequest, Request
from core.route import Route
from core.translation import Translation
from core.vigil import Vigil

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
        self._vigils: set[Vigil] = set()
        self._pages = [pipeline for pipeline in loaded.pipelines if pipeline.answers("page")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Everything that must run while requests are served: the plugins' own parts, and the clients' connections."""
        lives = Lives()
        await lives.start(self.loaded)
        try:
            yield
        finally:
            await lives.end()

    async def handle(self, http: HTTPRequest, sink: Sink, refusal: GatewayError | None = None) -> None:
        """Serve one request; `http.path` is the whole path. With `refusal` the request is answered by that error.

        Never raises but for cancellation (the client left, or the server goes) and what `sink` raises.
        """
        if self._pages and http.method == "GET" and await self._page(http, sink):
            return
        pipeline, http, nowhere = self._mounted(http)
        record = Record(http, pipeline=pipeline.name)
        out = Outlet(sink, record, blame=pipeline.blame)
        around = Around(pipeline, http, record)
        cancelled = True
        try:
            try:
                await self._serve(pipeline, http, out, refusal or nowhere, around)
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

    def interrupt(self, error: GatewayError) -> None:
        """End every request that waits for an upstream with this error."""
        for vigil in list(self._vigils):
            vigil.fail(error)

    async def _interrupted(self, pipeline: Pipeline, http: HTTPRequest, out: Outlet) -> None:
        """The server takes the request's task away: its client, if it is still there, is told."""
        if not out.sink.gone:
            with anyio.move_on_after(FAREWELL, shield=True), suppress(OSError):
                await self._fail(pipeline, http, out, going())

    async def _serve(
        self, pipeline: Pipeline, http: HTTPRequest, out: Outlet, refusal: GatewayError | None, around: Around
    ) -> None:
        record = out.record
        try:
            refusal = await around.enter() or refusal
            if http.method == "HEAD" and not (http.mount + http.path).strip("/"):
                # Claude Code opens its connection this way before the first request.
                out.answer = pipeline.serialize(http, None)
                await out.write(b"", last=True)
                return
            if refusal is not None:
                await self._fail(pipeline, http, out, refusal)
                return
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
        route = Route(route.candidates[:1])
        out.record.route = route
        back = pipeline.backs.get(route.backend)
        if back is None:
            raise RequestError(f"model: {request.model} goes to a backend that is not here", kind="not_found")
        with Cut() as cut:
            vigil = Vigil(back.client.backend, self.server.ping_interval, give_up=cut.now, ping=out.ping)
            self._vigils.add(vigil)
            try:
                await self._attempt(back, request, route, out, vigil)
            finally:
                self._vigils.discard(vigil)
                vigil.end()
            return
        if vigil.error is not None:
            raise vigil.error

    async def _attempt(self, back: Back, request: Request, route: Route, out: Outlet, vigil: Vigil) -> None:
        content, stop = back.translate_content(request, route), back.translate_stop(request, route)
        translators = out.translators = Translation(content, stop, back.blame)
        call = back.call_upstream(request, route)
        try:
            await self._receive(call, request, translators, out, vigil)
        except GatewayError:
            raise
        except ANYTHING as error:
            if leaves(error):
                raise
            back.blame(error, "call_upstream", "call")
            raise_fault(error)

    async def _receive(
        self, call: UpstreamCall, request: Request, translators: Translation, out: Outlet, vigil: Vigil
    ) -> None:
        async with call as batches:
            out.record.accepted = time.monotonic()
            vigil.accepted()
            stopped = False
            async for chunks in batches:
                deltas, stopped = translators.feed(chunks)
                vigil.waits = False
                told = await out.feed(deltas)
                vigil.waits = True
                vigil.heard(told=told, begun=bool(deltas))
                if stopped:
                    break
            vigil.waits = False
            if not stopped:
                deltas, stopped = translators.flush()
                if not stopped and request.task == "message":
                    await out.feed(deltas)
                    raise UpstreamError("the upstream's answer broke off before its end", status=502)
                await out.finish(deltas)
            else:
                await out.finish(())
        if not out.ended:
            raise RuntimeError("__aexit__ returned true, which hides what went wrong")

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


def _mine(request: Request | None, http: HTTPRequest) -> Request:
    if request is None:
        raise RequestError(f"{http.mount}{http.path}: there is nothing here", kind="not_found")
    return request
