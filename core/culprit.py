"""Whose fault is it? Names hook and plugin in a note on an exception, which pluggy does not do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any, Final

import attrs
import orjson
import pluggy

from core.chat.failures import clean

FAULTS: Final = (Exception, SystemExit)
"""What a broken plugin may raise. One that calls `sys.exit` must not end a process that serves others."""

CHUNK_LIMIT: Final = 400
"""Characters of a chunk that are told."""

_NOTE: Final = "in "


@attrs.frozen(eq=False)
class Suspects:
    """The plugins of one manager that take part in one hook."""

    manager: pluggy.PluginManager
    hook: str

    def of(self, error: BaseException, otherwise: str = "") -> str:
        """The plugin whose code was deepest in the traceback; `otherwise` when none is in it."""
        found = ""
        for frame in _frames(error):
            owners = self._owners(frame)
            # Where a module is home to several plugins, the one that was at work a frame before it goes on.
            found = found if found in owners or not owners else owners[0]
        return f"plugin {found!r}" if found else otherwise or "an unknown plugin"

    def chain(self) -> str:
        """All of them: the outermost wrapper first, it is the one that gave what the hook gave."""
        implementations = self._implementations()
        wrappers = [f"plugin {each.plugin_name!r}" for each in implementations if each.wrapper or each.hookwrapper]
        rest = [f"plugin {each.plugin_name!r}" for each in implementations if not (each.wrapper or each.hookwrapper)]
        return " around ".join([*wrappers, " or ".join(rest)] if rest else wrappers) or "no plugin"

    def _implementations(self) -> list[pluggy.HookImpl]:
        caller: pluggy.HookCaller = getattr(self.manager.hook, self.hook)
        return caller.get_hookimpls()[::-1]

    def _owners(self, frame: FrameType) -> list[str]:
        """The plugins that a frame may belong to: it is a hook, a method of what a hook made, or of their module."""
        implementations = self._implementations()
        made = type(frame.f_locals.get("self")).__name__
        for each in implementations:
            if _function(each).__code__ is frame.f_code:
                return [each.plugin_name]
        makers = [each for each in implementations if made in _function(each).__code__.co_names]
        return _nearest(str(frame.f_globals.get("__name__")), makers or implementations, least=0 if makers else 1)


def named(error: BaseException) -> bool:
    """Whether the exception, or what caused it, carries a note already; the first one is the nearest to the fault."""
    return any(each.startswith(_NOTE) for each in notes_of(error))


def note(error: BaseException, place: str) -> None:
    """Say once where the exception comes from."""
    if not named(error):
        error.add_note(f"{_NOTE}{place}")


def notes_of(error: BaseException) -> list[str]:
    """The notes of an exception and of what caused it."""
    notes: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        notes += getattr(cause, "__notes__", ())
        cause = cause.__cause__
    return notes


def chunk_in_words(chunk: Mapping[str, Any], hide: Iterable[str] = ()) -> str:
    """A chunk for the log: without the strings of `hide`, and cut."""
    try:
        text = orjson.dumps(chunk).decode()
    except TypeError:
        text = repr(chunk)
    text = clean(text, hide)
    return text if len(text) <= CHUNK_LIMIT else f"{text[:CHUNK_LIMIT]}…"


def _frames(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _function(implementation: pluggy.HookImpl) -> Any:
    return getattr(implementation.function, "__func__", implementation.function)


def _nearest(module: str, implementations: list[pluggy.HookImpl], *, least: int) -> list[str]:
    """The plugins whose module shares most with the frame's, and not less than the `least` parts of its name."""
    shared = [_shared(module.split("."), str(_function(each).__module__).split(".")) for each in implementations]
    most = max(shared, default=0)
    return [each.plugin_name for each, parts in zip(implementations, shared, strict=True) if parts == most >= least]


def _shared(one: list[str], other: list[str]) -> int:
    if one[0] == "core":
        return 0
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same
