"""One request from parse to the last byte; the only place that turns an error into an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import attrs
import pluggy
import structlog

from core.culprit import FAULTS, notes_of
from core.deltas import Stop
from core.errors import GatewayError, RequestError, UpstreamError
from core.hookspecs import UpstreamCall
from core.loader import Loaded
from core.outlet import Outlet, Sink
from core.pipeline import Back, Pipeline
from core.record import Record
from core.request import HTTPRequest, Request, Route
from core.translation import Translation


class Gateway:
    """All pipelines, their backends, and what runs with them."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        mounts = [(path, pipeline) for pipeline in loaded.pipelines for path in pipeline.paths]
        # The longest path first, so that /llm/v1 is not taken for something below /llm.
        self._mounts = sorted(mounts, key=lambda mount: -len(mount[0]))
        self._log = structlog.get_logger()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Everything that must run while requests are served: the plugins' own parts, and the clients' connections."""
        async with AsyncExitStack() as stack:
            for client in self.loaded.clients:
                stack.push_async_callback(client.aclose)
            for manager in self.loaded.managers:
                for implementation in manager.hook.lifespan.get_hookimpls():
                    await _enter(stack, implementation)
            yield

    async def handle(self, http: HTTPRequest, sink: Sink, refusal: RequestError | None = None) -> None:
        """Serve one request; `http.path` is the whole path. With `refusal` the request is answered by that error.

        Never raises but for cancellation (the client left) and what `sink` raises.
        """
        pipeline, http, nowhere = self._mounted(http)
        record = Record(http, pipeline=pipeline.name)
        out = Outlet(sink, record, blame=pipeline.blame)
        try:
            await self._serve(pipeline, http, out, refusal or nowhere)
        except BaseException:
            record.left = True
            raise
        finally:
            self._log.log(record.level, "request", **record.fields())

    async def _serve(self, pipeline: Pipeline, http: HTTPRequest, out: Outlet, refusal: RequestError | None) -> None:
        record = out.record
        try:
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
        limit = back.client.backend.total_timeout
        with anyio.move_on_after(limit) as scope:
            await self._attempt(back, request, route, out)
        if scope.cancelled_caught:
            raise UpstreamError(f"the answer was not complete after {limit:g} seconds", kind="timeout")

    async def _attempt(self, back: Back, request: Request, route: Route, out: Outlet) -> None:
        content, stop = back.translate_content(request, route), back.translate_stop(request, route)
        translators = out.translators = Translation(content, stop, back.blame)
        call = back.call_upstream(request, route)
        try:
            await self._receive(call, request, translators, out)
        except GatewayError:
            raise
        except FAULTS as error:
            back.blame(error, "call_upstream", "call")
            raise

    async def _receive(self, call: UpstreamCall, request: Request, translators: Translation, out: Outlet) -> None:
        async with call as batches:
            out.record.accepted = time.monotonic()
            stopped = False
            async for chunks in batches:
                deltas, stopped = translators.feed(chunks)
                await out.feed(deltas)
                if stopped:
                    break
            if not stopped:
                deltas, stopped = translators.flush()
                if not stopped and request.task == "message":
                    await out.feed(deltas)
                    raise UpstreamError("the upstream's answer broke off before its end", status=502)
                await out.finish(deltas)
            else:
                await out.finish(())

    async def _fail(self, pipeline: Pipeline, http: HTTPRequest, out: Outlet, error: GatewayError) -> None:
        out.record.error = error
        try:
            if out.answer is None:
                out.answer = pipeline.serialize(http, None)
            if out.started and out.translators is not None:
                # The client has seen a part: it gets what was held, too, and then the error instead of an end.
                held, _ = out.translators.flush()
                await out.feed([delta for delta in held if not isinstance(delta, Stop)])
            last = out.say("fail", error)
        except FAULTS as fault:  # the writer itself is at fault: no envelope but our own is left
            self._log_fault(out.record, fault)
            await out.last_words(http)
        else:
            await out.write(last, last=True)

    def _log_fault(self, record: Record, fault: BaseException) -> None:
        backend = record.route.backend if record.route is not None else None
        place = {"id": record.http.id, "pipeline": record.pipeline, "backend": backend}
        self._log.error("fault", **place, notes=notes_of(fault), exc_info=fault)

    def _mounted(self, http: HTTPRequest) -> tuple[Pipeline, HTTPRequest, RequestError | None]:
        """The pipeline that the path belongs to; a path of nobody's is refused by the first one, in its envelope."""
        for mount, pipeline in self._mounts:
            prefix = mount.rstrip("/")
            if http.path == prefix or http.path.startswith(prefix + "/"):
                return pipeline, attrs.evolve(http, mount=prefix, path=http.path[len(prefix) :]), None
        here = ", ".join(mount for mount, _ in self._mounts)
        error = RequestError(
            f"{http.path}: there is nothing here; this server's paths begin with {here}", kind="not_found"
        )
        return self.loaded.pipelines[0], http, error


async def _enter(stack: AsyncExitStack, implementation: pluggy.HookImpl) -> None:
    """Begin one plugin's lifespan; a start that fails names the plugin."""
    try:
        context: Any = implementation.function()
        if context is not None:
            await stack.enter_async_context(context)
    except Exception as error:
        error.add_note(f"in lifespan of plugin {implementation.plugin_name!r}")
        raise


def _mine(request: Request | None, http: HTTPRequest) -> Request:
    if request is None:
        raise RequestError(f"{http.mount}{http.path}: there is nothing here", kind="not_found")
    return request
