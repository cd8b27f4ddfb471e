"""A key as its file has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from plugins.keys.limits import MOST, NUMBERS, PERIODS, Limits
from plugins.keys.moments import moment_of, text_of

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_ID: Final = re.compile(r"[0-9a-z]{4,32}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class EntryError(ValueError):
    """What is wrong with an entry, with the name of its field; nothing secret is in it."""


@attrs.frozen
class Key:
    """One key. `given` are the limits that it has itself, by name; for the others the plugin's options hold."""

    id: str
    name: str
    sha256: str = attrs.field(repr=False)
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    given: Mapping[str, Any] = attrs.field(factory=dict)

    def limits(self, defaults: Limits) -> Limits:
        """What it may do."""
        return attrs.evolve(defaults, **self.given)

    def fault(self, now: float) -> str:
        """Why it lets nobody in at that Unix time; "" when it does."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires.timestamp() <= now else ""

    def table(self) -> dict[str, Any]:
        """The entry for the file; `key_of` reads it."""
        moments = {name: text_of(value) for name in _MOMENTS if (value := getattr(self, name)) is not None}
        return {"id": self.id, "name": self.name, "sha256": self.sha256, **moments, **self.given}


def key_of(table: object) -> Key:
    """The key of an entry. Raises EntryError."""
    if not isinstance(table, dict):
        raise EntryError("is no object")
    known = (*_NEEDED, *_MOMENTS, *_LIMITS)
    for name in table:
        if name not in known:
            raise EntryError(f"{name!r} is no field of a key; these are: {', '.join(known)}")
    needed: Mapping[str, Any] = {name: _text(table, name, pattern) for name, pattern in _NEEDED.items()}
    moments: Mapping[str, Any] = {name: _moment(table[name], name) for name in _MOMENTS if table.get(name) is not None}
    given = {name: read(table[name], name) for name, read in _LIMITS.items() if table.get(name) is not None}
    return Key(**needed, **moments, given=given)


def checked_name(name: str) -> str:
    """The name of a key, if it may be one. Raises EntryError."""
    return _text({"name": name}, "name", _NAME)


def _text(table: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise EntryError(f"{name!r} is {_WORDS[name]}")
    return value


def _moment(value: object, name: str) -> datetime:
    try:
        if isinstance(value, str):
            return moment_of(value)
    except (ValueError, OverflowError):
        pass
    raise EntryError(f"{name!r} is a date and time such as 2027-01-31T00:00:00Z")


def _number(value: object, name: str) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise EntryError(f"{name!r} is a whole number from 0 to {MOST} (0: no limit)")
    return value


def _globs(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and _is_text(each) for each in value):
        raise EntryError(f"{name!r} is a list of models' names or globs, none of them empty")
    return tuple(value)


def _is_text(value: str) -> bool:
    """Whether it is something that a file can have: arguments of commands may be bytes that are no UTF-8."""
    return bool(value) and value.encode(errors="ignore").decode() == value


def _period(value: object, name: str) -> str:
    if not isinstance(value, str) or value not in PERIODS:
        raise EntryError(f"{name!r} is one of {', '.join(PERIODS)}")
    return value


_NEEDED: Final = {"id": _ID, "name": _NAME, "sha256": _HASH}
_WORDS: Final = {
    "id": "needed: 4 to 32 lower-case letters and digits",
    "name": "needed: 1 to 64 letters, digits and any of . _ @ -, a letter or digit first",
    "sha256": "needed: 64 hexadecimal digits",
}
_MOMENTS: Final = ("created", "expires", "revoked")
_LIMITS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "models": _globs,
    **dict.fromkeys(NUMBERS, _number),
    "budget_period": _period,
}
