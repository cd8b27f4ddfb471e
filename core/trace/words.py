"""A step of a trace, and values in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from core.deltas import Delta

WIDTH: Final = 300
"""Characters of a value that a line shows."""

_HIDDEN: Final = frozenset({"client", "route", "request"})
"""Fields of a call that are shown elsewhere, or not at all."""


@attrs.frozen
class Step:
    """One thing that happened: at which stage, in whose code ("": the gateway's), and what."""

    stage: str
    who: str
    what: str


Tell = Callable[[Step], None]


def line_of(step: Step, width: int = WIDTH) -> str:
    """The step as a line of text; `width` 0 shows all of it."""
    what = step.what if not width or len(step.what) <= width else f"{step.what[:width]}…"
    return f"{step.stage:<23} {step.who:<11} {what}".rstrip()


def deltas_in_words(deltas: object) -> str:
    """What a translator gave, whatever it is."""
    if not isinstance(deltas, Sequence) or isinstance(deltas, str | bytes):
        return f"!! {type(deltas).__name__}: {in_repr(deltas)}"
    return ", ".join(map(_value, deltas)) or "nothing"


def passed(given: Sequence[Delta], out: object) -> str:
    """What became of the deltas that a translator was given."""
    if isinstance(out, Sequence) and list(out) == list(given):
        return f"{deltas_in_words(out)} (as given)" if out else "nothing"
    return f"{deltas_in_words(given)} -> {deltas_in_words(out)}"


def json_in_words(value: object) -> str:
    """A chunk or a body as JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return in_repr(value)


def value_in_words(value: object) -> str:
    """An attrs value with those of its fields that say something."""
    return _value(value)


def call_in_words(call: object, before: object | None) -> str:
    """A call: its class and fields, or what a wrapper made another in it."""
    if before is None or type(before) is not type(call) or not attrs.has(type(call)):
        shown = {name: value for name, value in _fields(call).items() if name not in _HIDDEN}
        return f"{type(call).__name__}({', '.join(f'{name}={_value(value)}' for name, value in shown.items())})"
    changes = _changes("", _fields(before), _fields(call))
    return ", ".join(changes) or "as given"


def in_repr(value: object) -> str:
    """Its repr, if it has one: a trace must not break what it looks at."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001  a plugin's value may be as broken as the plugin
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def _changes(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    found = []
    for name, new in after.items():
        old = before.get(name)
        if old is new or old == new:
            continue
        if attrs.has(type(new)) and type(old) is type(new):
            found += _changes(f"{path}{name}.", _fields(old), _fields(new))
        elif name == "client":
            found.append("client: another one")
        else:
            found.append(f"{path}{name}: {_value(old)} -> {_value(new)}")
    return found


def _fields(value: Any) -> dict[str, Any]:
    """The public fields of an attrs value."""
    if not attrs.has(type(value)):
        return {}
    fields = attrs.fields(type(value))
    return {field.name: getattr(value, field.name) for field in fields if field.init and not field.name.startswith("_")}


def _value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if not attrs.has(type(value)):
        return in_repr(value)
    told = []
    for field in attrs.fields(type(value)):
        content = getattr(value, field.name)
        if field.init and field.repr and content not in (field.default, None, (), {}):
            told.append(f"{field.name}={_value(content)}")
    return f"{type(value).__name__}({', '.join(told)})"
