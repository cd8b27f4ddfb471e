"""Whose fault is it? Names hook and plugin in a note on an exception, which pluggy does not do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any, Final

import attrs
import orjson
import pluggy

from core.chat.failures import clean

FAULTS: Final = (Exception, SystemExit, KeyboardInterrupt)
"""What a broken plugin may raise, and the server goes on: `sys.exit` must not end a process that serves others."""

CHUNK_LIMIT: Final = 400
"""Characters of a chunk that are told."""

_NOTE: Final = "in "


@attrs.frozen(eq=False)
class Suspects:
    """The plugins of one manager that take part in one hook, but for those whose attribute `innocent` is true."""

    manager: pluggy.PluginManager
    hook: str

    def of(self, error: BaseException, otherwise: str = "") -> str:
        """The plugin whose code was deepest in the traceback; `otherwise` when none is in it."""
        # A StopIteration out of a wrapper comes as a RuntimeError from elsewhere: its cause has been in the plugin.
        found = next(filter(None, map(self._deepest, _causes(error))), "")
        return f"plugin {found!r}" if found else otherwise or "an unknown plugin"

    def chain(self) -> str:
        """All of them: the outermost wrapper first, it is the one that gave what the hook gave."""
        implementations = self._implementations()
        wrappers = [f"plugin {each.plugin_name!r}" for each in implementations if each.wrapper or each.hookwrapper]
        rest = [f"plugin {each.plugin_name!r}" for each in implementations if not (each.wrapper or each.hookwrapper)]
        return " around ".join([*wrappers, " or ".join(rest)] if rest else wrappers) or "no plugin"

    def _deepest(self, error: BaseException) -> str:
        found = ""
        for frame in _frames(error):
            owners = self._owners(frame)
            # Where a module is home to several plugins, the one that was at work a frame before it goes on.
            found = found if found in owners or not owners else owners[0]
        return found

    def _implementations(self) -> list[pluggy.HookImpl]:
        caller: pluggy.HookCaller = getattr(self.manager.hook, self.hook)
        return [each for each in caller.get_hookimpls()[::-1] if not getattr(each.plugin, "innocent", False)]

    def _owners(self, frame: FrameType) -> list[str]:
        """The plugins that a frame may belong to: it is a hook, a method of what a hook made, or of their module."""
        implementations = self._implementations()
        made = type(frame.f_locals.get("self")).__name__
        for each in implementations:
            if _code(each) is frame.f_code:
                return [each.plugin_name]
        makers = [each for each in implementations if made in getattr(_code(each), "co_names", ())]
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
    return [note for cause in _causes(error) for note in getattr(cause, "__notes__", ())]


def chunk_in_words(chunk: Mapping[str, Any], hide: Iterable[str] = ()) -> str:
    """A chunk for the log: without the strings of `hide`, and cut."""
    try:
        text = orjson.dumps(chunk).decode()
    except TypeError:
        try:
            text = repr(chunk)
        except Exception:  # noqa: BLE001  a plugin's call may have put in what it likes
            text = f"a {type(chunk).__name__} without a repr"
    text = clean(text, hide)
    return text if len(text) <= CHUNK_LIMIT else f"{text[:CHUNK_LIMIT]}…"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what caused it, and so on; each once, for a plugin may have tied a knot."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__cause__


def _frames(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _function(implementation: pluggy.HookImpl) -> Any:
    return getattr(implementation.function, "__func__", implementation.function)


def _code(implementation: pluggy.HookImpl) -> object:
    """The code of a hook; None for a callable that has none of its own."""
    return getattr(_function(implementation), "__code__", None)


def _nearest(module: str, implementations: list[pluggy.HookImpl], *, least: int) -> list[str]:
    """The plugins whose module shares most with the frame's, and not less than the `least` parts of its name."""
    modules = [str(getattr(_function(each), "__module__", "")) for each in implementations]
    shared = [_shared(module.split("."), each.split(".")) for each in modules]
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
