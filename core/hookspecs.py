"""The hooks, in the order in which a request meets them. This page is the manual; docs/plugins.md shows them at work.

All are plain functions (never `async def`) and are called once per request or, where it says so, once at start. They
return values or small objects; the objects do the waiting and the per-chunk work. A plugin implements the hooks it
wants, taking only the arguments it needs, marked with `core.hookimpl`. Where plugins answer the same hook, the one
listed later in pipelines.toml is asked first, and a wrapper (`hookimpl(wrapper=True)`) wraps what is listed before it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

from core.deltas import Delta, Model
from core.errors import GatewayError
from core.page import Page
from core.request import HTTPRequest, Request
from core.route import Route

if TYPE_CHECKING:
    from core.chat.client import UpstreamClient
    from core.config import Config
    from core.record import Record
    from core.traffic import Traffic

PROJECT = "hookline"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Chunk = dict[str, Any]
"""One chat-completions JSON object from the upstream, untrusted; a whole completion is a stream of one chunk."""

UpstreamCall = AbstractAsyncContextManager[AsyncIterator[list[Chunk]]]
"""Sends the request on entering (raises UpstreamError when it is refused) and gives lists of chunks, one list per
network read; leaving it ends the generation. A chunk that carries an error is raised as UpstreamError, never given."""


class ContentTranslator(Protocol):
    """Chunks to deltas, in the order in which the client shall see them."""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas that the chunk lets go."""

    def flush(self) -> Sequence[Delta]:
        """What was still held when the chunks ended, well or not."""


class StopTranslator(Protocol):
    """Finds out why the answer ended."""

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The chunk's deltas, some held or cut; a `Stop` among them ends the upstream call at once."""

    def flush(self) -> Sequence[Delta]:
        """What was held, then one `Stop`; no `Stop` when the upstream never said that it was done."""


class Answer(Protocol):
    """One answer in the client's protocol. `status` and `headers` are read when the first bytes go out."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """(lower-case name, value) pairs."""

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """What can be sent now; b"" when nothing."""

    def ping(self) -> bytes:
        """Bytes that show life and mean nothing; b"" where the protocol has none."""

    def finish(self) -> bytes:
        """The rest, after a `Stop` was fed."""

    def fail(self, error: GatewayError) -> bytes:
        """The error, as status and body when nothing was sent yet, else as the protocol's last event."""


class Hooks:
    """The specifications."""

    # --- per request: the front ---

    @hookspec(firstresult=True)
    def parse(self, http: HTTPRequest) -> Request | None:
        """Read the client's request. None: not mine. Raises RequestError, which is served in the client's envelope."""

    @hookspec(firstresult=True)
    def route(self, http: HTTPRequest, request: Request) -> Route | None:
        """Choose backend and upstream model. None: not mine. Raises RequestError (kind `not_found`: no such model)."""

    @hookspec(firstresult=True)
    def serialize(self, http: HTTPRequest, request: Request | None) -> Answer | None:
        """The answer's writer; `request` is None when `parse` refused."""

    # --- per attempt: the back ---

    @hookspec(firstresult=True)
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall | None:
        """The upstream call, not yet begun. A wrapper changes what is sent by `attrs.evolve(call, request=…)`."""

    @hookspec(firstresult=True)
    def translate_content(self, request: Request, route: Route) -> ContentTranslator | None:
        """A translator for this one answer."""

    @hookspec(firstresult=True)
    def translate_stop(self, request: Request, route: Route) -> StopTranslator | None:
        """A translator for this one answer; it sees each chunk with the deltas that `translate_content` made of it."""

    # --- beside the six ---

    @hookspec
    def exchange(self, http: HTTPRequest, record: Record) -> AbstractAsyncContextManager[Any] | None:
        """Once per request: a context around the whole of it, from before it is read until its last byte is out. It may
        refuse on entering by raising a GatewayError, which the client gets. On leaving, which it always does without
        an exception, `record` says how the request ended. `http.body` is empty: who is refused is not listened to; once
        it is read, `record.http` has it. Of several, the one listed last is the outermost. None: nothing to do for this
        one."""

    @hookspec
    def observe(self, records: Sequence[Record], traffic: Traffic) -> None:
        """Requests of a pipeline that are over, several at once and a moment later (a twentieth of a second), so
        that none waits for whoever counts or writes; also once a second while any runs, then perhaps without records.
        `traffic` is what goes on in the pipeline now. For what needs no part in a request: it is much cheaper than
        `exchange`. All are told, whatever one of them raises."""

    @hookspec(firstresult=True)
    def page(self, http: HTTPRequest) -> Page | None:
        """Answer a GET for a path of the plugin's own; `http.path` is the whole path, `http.mount` empty. None: not
        mine. No other hook is called for such a request."""

    @hookspec
    def list_models(
        self, http: HTTPRequest, request: Request, clients: Mapping[str, UpstreamClient]
    ) -> Iterable[Model] | Awaitable[Iterable[Model]] | None:
        """The models a client may name; all plugins' answers are joined. With `request.model` that one alone is wanted,
        also where the list has no room for it (a name that a pattern matches). `clients` are the backends' own, by
        name: what is asked of them is awaited. None are given where nobody can wait: then only what is known is
        told."""

    @hookspec
    def check(self, config: Config) -> None:
        """At start and at each reload, after all tables were read: raise ConfigError for what cannot be served. At a
        reload it runs in a thread, also on plugins that are kept, and must change nothing."""

    @hookspec
    def lifespan(self) -> AbstractAsyncContextManager[Any] | None:
        """Once per plugin and process, around its whole life: what it needs running (an engine, a port, a writer). At
        a reload a plugin whose options changed is another one: the new one's begins before the old one's ends."""
