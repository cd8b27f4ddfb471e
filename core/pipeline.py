"""A typed face on the hooks: one method each, and the only caller of pluggy while requests run."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs
import pluggy

from core.balance.state import BackendState
from core.culprit import Suspects, chunk_in_words, note
from core.deltas import Model
from core.hook_call import call_hook
from core.hookspecs import Answer, Chunk, ContentTranslator, StopTranslator, UpstreamCall
from core.page import Page
from core.raised import ANYTHING, leaves, raise_fault
from core.record import Record
from core.request import HTTPRequest, Request
from core.route import Candidate, Route
from core.traffic import Traffic

if TYPE_CHECKING:
    from core.chat.client import UpstreamClient

_CALL: Final = ("__aenter__", "__aexit__")
_TRANSLATOR: Final = ("feed", "flush")
_ANSWER: Final = ("feed", "ping", "finish", "fail")

Sound = set[tuple[type, str]]
"""Classes that have what the hook's answers need, each with the hook."""


class NoAnswerError(Exception):
    """A hook that must be answered got None, although the loader saw that there is a plugin for it."""


@attrs.frozen(eq=False)
class Back:
    """One backend joined with one pipeline: the backend's plugins, then the pipeline's.

    `state` is one per backend: all pipelines share it.
    """

    name: str
    manager: pluggy.PluginManager
    client: UpstreamClient
    state: BackendState = attrs.field()
    _sound: Sound = attrs.field(init=False, repr=False, factory=set)

    @state.default
    def _fresh(self) -> BackendState:
        return BackendState(self.client.backend)

    def call_upstream(self, request: Request, route: Route) -> UpstreamCall:
        """The upstream call for one attempt, not yet begun."""
        return self._one("call_upstream", _CALL, request=request, route=route, client=self.client)  # type: ignore[no-any-return]

    def translate_content(self, request: Request, route: Route) -> ContentTranslator:
        """A content translator for one answer."""
        return self._one("translate_content", _TRANSLATOR, request=request, route=route)  # type: ignore[no-any-return]

    def translate_stop(self, request: Request, route: Route) -> StopTranslator:
        """A stop translator for one answer."""
        return self._one("translate_stop", _TRANSLATOR, request=request, route=route)  # type: ignore[no-any-return]

    def blame(self, error: BaseException, hook: str, method: str, chunk: Chunk | None = None) -> None:
        """Note on an exception which plugin's object raised it, in which method and at which chunk."""
        suspects = Suspects(self.manager, hook)
        at = "" if chunk is None else f", at the chunk {chunk_in_words(chunk, self.client.hidden())}"
        note(error, f"{hook}.{method} of {suspects.of(error, suspects.chain())}, backend {self.name!r}{at}")

    def _one(self, hook: str, methods: tuple[str, ...], **arguments: Any) -> Any:
        owner = f"backend {self.name!r}"
        found = call_hook(self.manager, hook, owner, arguments)
        if _is_sound(found, methods, hook, self._sound):
            return found
        return _checked(found, methods, self.manager, hook, owner)


@attrs.frozen(eq=False)
class Pipeline:
    """One client surface: where it is mounted, its front plugins, and the backends it may be joined with."""

    name: str
    paths: tuple[str, ...]
    manager: pluggy.PluginManager
    backs: Mapping[str, Back]
    _sound: Sound = attrs.field(init=False, repr=False, factory=set)

    def parse(self, http: HTTPRequest) -> Request | None:
        """The client's request, or None when it is for no plugin of this pipeline."""
        found = self._call("parse", http=http)
        if not isinstance(found, Request | None):
            raise self._wrong("parse", found, "Request")
        return found

    def route(self, http: HTTPRequest, request: Request) -> Route | None:
        """Where the request goes, or None."""
        found = self._call("route", http=http, request=request)
        if not isinstance(found, Route | None):
            raise self._wrong("route", found, "Route")
        if found is not None and not _are_candidates(found.candidates):
            raise self._wrong("route", found, "one of Candidate values")
        return found

    def serialize(self, http: HTTPRequest, request: Request | None) -> Answer:
        """The answer's writer."""
        found = self._call("serialize", http=http, request=request)
        if not _is_sound(found, _ANSWER, "serialize", self._sound):
            _checked(found, _ANSWER, self.manager, "serialize", f"pipeline {self.name!r}")
        return found  # type: ignore[no-any-return]

    def exchange(self, http: HTTPRequest, record: Record) -> list[AbstractAsyncContextManager[Any]]:
        """What the plugins put around the request, outermost first."""
        if not self.answers("exchange"):
            return []
        found = [context for context in self._call("exchange", http=http, record=record) if context is not None]
        for context in found:
            if not _is_sound(context, _CALL, "exchange", self._sound):
                _checked(context, _CALL, self.manager, "exchange", f"pipeline {self.name!r}")
        return found

    def observe(self, records: Sequence[Record], traffic: Traffic) -> list[BaseException]:
        """Tell each plugin that observes; what any of them raises, noted, keeps the news from none."""
        faults: list[BaseException] = []
        for name, tell in self._observers:
            try:
                tell(records=records, traffic=traffic)
            except ANYTHING as error:
                note(error, f"observe of plugin {name!r}, pipeline {self.name!r}")
                faults.append(error)
        return faults

    @cached_property
    def _observers(self) -> list[tuple[str, pluggy.HookCaller]]:
        """A caller for each plugin alone: pluggy's own round would end with the first exception."""
        plugins = self.manager.list_name_plugin()
        names = [each.plugin_name for each in reversed(self.manager.hook.observe.get_hookimpls())]
        return [
            (name, self.manager.subset_hook_caller("observe", [plugin for other, plugin in plugins if other != name]))
            for name in names
        ]

    def page(self, http: HTTPRequest) -> Page | None:
        """A plugin's own answer to a GET, or None."""
        found = self._call("page", http=http)
        if not isinstance(found, Page | None):
            raise self._wrong("page", found, "Page")
        return found

    def answers(self, hook: str) -> bool:
        """Whether any plugin here implements the hook."""
        return bool(getattr(self.manager.hook, hook).get_hookimpls())

    async def list_models(self, http: HTTPRequest, request: Request) -> list[Model]:
        """All plugins' models, in the order of the plugins, those that backends list included.

        With `request.model` that one must be among them, if it is there; the others may be left out.
        """
        clients = {name: back.client for name, back in self.backs.items()}
        answers = self._call("list_models", http=http, request=request, clients=clients)
        try:
            found = [await answer if isinstance(answer, Awaitable) else answer for answer in reversed(answers)]
            return [model for models in found for model in models]
        except ANYTHING as error:
            if leaves(error):
                raise
            self.blame(error, "list_models", "answer")
            raise_fault(error)

    def known_models(self, http: HTTPRequest) -> list[Model]:
        """The models that plugins know of without asking a backend."""
        answers = self._call("list_models", http=http, request=Request("models"), clients={})
        return [model for models in reversed(answers) for model in models]

    def blame(self, error: BaseException, hook: str, method: str) -> None:
        """Note on an exception which plugin's object raised it, and in which method."""
        suspects = Suspects(self.manager, hook)
        note(error, f"{hook}.{method} of {suspects.of(error, suspects.chain())}, pipeline {self.name!r}")

    def _wrong(self, hook: str, found: object, wanted: str) -> TypeError:
        chain, owner = Suspects(self.manager, hook).chain(), f"pipeline {self.name!r}"
        error = TypeError(f"{hook} of {owner} answered {type(found).__name__}, not {wanted}; it came from {chain}")
        note(error, f"{hook} of {chain}, {owner}")
        return error

    def _call(self, hook: str, **arguments: Any) -> Any:
        return call_hook(self.manager, hook, f"pipeline {self.name!r}", arguments)


def _are_candidates(found: object) -> bool:
    return isinstance(found, tuple | list) and all(isinstance(each, Candidate) for each in found)


def _is_sound(found: Any, methods: tuple[str, ...], hook: str, sound: Sound) -> bool:
    """Whether its class has these methods, and is among the `sound` ones from then on."""
    kind = found.__class__
    if (kind, hook) in sound:
        return True
    if not all(callable(getattr(kind, method, None)) for method in methods):
        return False
    sound.add((kind, hook))
    return True


def _checked(found: Any, methods: tuple[str, ...], manager: pluggy.PluginManager, hook: str, owner: str) -> Any:
    """What a hook gave, if it has these methods: a wrong one is told here, not wherever it first does harm."""
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if found is not None and not missing:
        return found
    chain = Suspects(manager, hook).chain()
    error: Exception = NoAnswerError(f"{hook} of {owner} answered None; asked: {chain}")
    if found is not None:
        lacks = f"{type(found).__name__}, which has no {', no '.join(missing)}"
        error = TypeError(f"{hook} of {owner} answered {lacks}; it came from {chain}")
    note(error, f"{hook} of {chain}, {owner}")
    raise error
