"""Can these plugins serve together? What a manager holds, hook by hook, and the faults that only show in company."""

from __future__ import annotations

from typing import Final

import pluggy

from core.chat.address import CHAT_PATH
from core.chat.transport import AUTHORIZATION
from core.config import BackendConfig
from core.config.faults import TableError
from core.loader.classes import BACK, FRONT

_EXAMPLES: Final = {"parse": "anthropic", "route": "models", "serialize": "anthropic"}


def check_front(manager: pluggy.PluginManager) -> None:
    """Refuse a pipeline that leaves one of the front hooks unanswered. Raises TableError."""
    for hook in FRONT:
        if not answerers(manager, hook):
            raise TableError(f"no plugin here answers {hook}", hint=f"list one that does, {_EXAMPLES[hook]!r} say")


def check_back(manager: pluggy.PluginManager, backend: BackendConfig) -> None:
    """Refuse a backend that leaves a back hook unanswered, or lacks the url its call needs. Raises TableError."""
    for hook in BACK:
        if not answerers(manager, hook):
            raise TableError(f"no plugin here answers {hook}", hint="list the engine's plugin, 'openai' say")
    caller = answerers(manager, "call_upstream")[0]
    if not backend.url and _needs_url(caller):
        raise TableError(f"missing, and plugin {caller.plugin_name!r} needs it", key="url")


def check_backend_alone(manager: pluggy.PluginManager, backend: BackendConfig) -> None:
    """Refuse what a backend's own plugins leave unused: a second engine, a url. Raises TableError."""
    callers = answerers(manager, "call_upstream")
    if len(callers) > 1:
        last, other = callers[0].plugin_name, callers[1].plugin_name
        raise TableError(
            f"plugins {other!r} and {last!r} both answer call_upstream, and {other!r} would never be called",
            key="wraps" if last in (backend.wraps or ()) else "plugins",
            hint="keep one of them, and wrappers",
        )
    if backend.url and callers and not _needs_url(callers[0]):
        raise TableError(f"plugin {callers[0].plugin_name!r} calls no address", key="url", hint="take it away")


def key_header(manager: pluggy.PluginManager) -> str:
    """The header that the backend's caller wants the key in: its class's `key_header`, else `authorization`."""
    callers = answerers(manager, "call_upstream")
    return str(getattr(callers[0].plugin, "key_header", AUTHORIZATION)) if callers else AUTHORIZATION


def chat_path(manager: pluggy.PluginManager) -> str:
    """The path that the backend's caller asks, behind its url: its class's `path`, else `/chat/completions`.

    One that is not empty begins with a slash.
    """
    callers = answerers(manager, "call_upstream")
    named = getattr(type(callers[0].plugin), "path", None) if callers else None
    if not isinstance(named, str):  # an option of that name is no word of the class's
        return CHAT_PATH
    return "/" + named.lstrip("/") if named else ""


def answerers(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    """The plugins that answer a hook, the one asked first leading."""
    return [each for each in reversed(_called(manager, hook)) if not _wraps(each)]


def wrappers(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    """The plugins that wrap a hook, outermost first."""
    return [each for each in reversed(_called(manager, hook)) if _wraps(each)]


def _called(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    caller: pluggy.HookCaller = getattr(manager.hook, hook)
    return caller.get_hookimpls()


def _needs_url(caller: pluggy.HookImpl) -> bool:
    return bool(getattr(caller.plugin, "needs_url", True))


def _wraps(implementation: pluggy.HookImpl) -> bool:
    return implementation.wrapper or implementation.hookwrapper
