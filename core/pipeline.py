"""A typed face on the hooks: one method each, and the only caller of pluggy while requests run."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from core.deltas import Model
from core.hookspecs import Answer, ContentTranslator, StopTranslator, UpstreamCall
from core.request import HTTPRequest, Request, Route

if TYPE_CHECKING:
    from core.chat.client import UpstreamClient


class NoAnswerError(Exception):
    """A hook that must be answered got None, although the loader saw that there is a plugin for it."""


@attrs.frozen(eq=False)
class Back:
    """One backend joined with one pipeline: the backend's plugins, then the pipeline's."""

    name: str
    manager: pluggy.PluginManager
    client: UpstreamClient

    def call_upstream(self, request: Request, route: Route) -> UpstreamCall:
        """The upstream call for one attempt, not yet begun."""
        return self._one("call_upstream", request=request, route=route, client=self.client)  # type: ignore[no-any-return]

    def translate_content(self, request: Request, route: Route) -> ContentTranslator:
        """A content translator for one answer."""
        return self._one("translate_content", request=request, route=route)  # type: ignore[no-any-return]

    def translate_stop(self, request: Request, route: Route) -> StopTranslator:
        """A stop translator for one answer."""
        return self._one("translate_stop", request=request, route=route)  # type: ignore[no-any-return]

    def _one(self, hook: str, **arguments: Any) -> Any:
        found = call_hook(self.manager, hook, f"backend {self.name!r}", arguments)
        if found is None:
            raise NoAnswerError(f"{hook} of backend {self.name!r} answered None")
        return found


@attrs.frozen(eq=False)
class Pipeline:
    """One client surface: where it is mounted, its front plugins, and the backends it may be joined with."""

    name: str
    paths: tuple[str, ...]
    manager: pluggy.PluginManager
    backs: Mapping[str, Back]

    def parse(self, http: HTTPRequest) -> Request | None:
        """The client's request, or None when it is for no plugin of this pipeline."""
        found = self._call("parse", http=http)
        if not isinstance(found, Request | None):
            raise TypeError(f"parse of pipeline {self.name!r} answered {type(found).__name__}, not Request")
        return found

    def route(self, http: HTTPRequest, request: Request) -> Route | None:
        """Where the request goes, or None."""
        found = self._call("route", http=http, request=request)
        if not isinstance(found, Route | None):
            raise TypeError(f"route of pipeline {self.name!r} answered {type(found).__name__}, not Route")
        return found

    def serialize(self, http: HTTPRequest, request: Request | None) -> Answer:
        """The answer's writer."""
        found = self._call("serialize", http=http, request=request)
        if found is None:
            raise NoAnswerError(f"serialize of pipeline {self.name!r} answered None")
        return found  # type: ignore[no-any-return]

    async def list_models(self, http: HTTPRequest) -> list[Model]:
        """All plugins' models, in the order of the plugins, those that backends list included."""
        clients = {name: back.client for name, back in self.backs.items()}
        answers = self._call("list_models", http=http, clients=clients)
        found = [await answer if isinstance(answer, Awaitable) else answer for answer in reversed(answers)]
        return [model for models in found for model in models]

    def known_models(self, http: HTTPRequest) -> list[Model]:
        """The models that plugins know of without asking a backend."""
        answers = self._call("list_models", http=http, clients={})
        return [model for models in reversed(answers) for model in models]

    def _call(self, hook: str, **arguments: Any) -> Any:
        return call_hook(self.manager, hook, f"pipeline {self.name!r}", arguments)


def call_hook(manager: pluggy.PluginManager, hook: str, owner: str, arguments: Mapping[str, Any]) -> Any:
    """Call a hook; an exception that leaves it gets a note that names owner, hook and the plugin it came from."""
    try:
        return getattr(manager.hook, hook)(**arguments)
    except Exception as error:
        error.add_note(f"in {hook} of {_culprit(manager, hook, error)}, {owner}")
        raise


def _culprit(manager: pluggy.PluginManager, hook: str, error: BaseException) -> str:
    """The plugin whose implementation was deepest in the traceback: pluggy does not say."""
    codes = {}
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        function = getattr(implementation.function, "__func__", implementation.function)
        codes[function.__code__] = implementation.plugin_name
    found, trace = "an unknown plugin", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            found = f"plugin {codes[trace.tb_frame.f_code]!r}"
        trace = trace.tb_next
    return found
