"""Faults of a configuration: what is wrong, without its place, and the sentence that helps to put it right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from core.errors import ConfigError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TableError(Exception):
    """What is wrong and what to do about it; `placed` adds file and table and makes it a ConfigError.

    `key` is the key within the table as TOML writes it (`dotted`), "" when the table as a whole is meant; `table` is
    given where it is another one than the place at hand. No secret may be in any of them.
    """

    def __init__(self, message: str, *, table: str = "", key: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.table, self.key, self.hint = message, table, key, hint


@contextmanager
def placed(file: str, table: str = "", key: str = "") -> Iterator[None]:
    """Turn a TableError, or a ConfigError that names no file, into a ConfigError of this place.

    `key` is used where the error names none. Raises ConfigError.
    """
    try:
        yield
    except TableError as fault:
        where = {"table": fault.table or table, "key": fault.key or key}
        raise ConfigError(fault.message, file=file, hint=fault.hint, **where) from fault
    except ConfigError as error:
        if error.file:
            raise
        here = {} if error.table else {"table": table, "key": "" if error.key else key}
        raise ConfigError(error.message, file=file, **here) from error


def dotted(*parts: object) -> str:
    """The parts as TOML writes a dotted key, quoted where it must: `backends."a b"`."""
    return ".".join(text if _BARE.fullmatch(text := str(part)) else f'"{text}"' for part in parts)


def did_you_mean(name: str, valid: Iterable[str], what: str = "valid") -> str:
    """`did you mean 'url'?`, or all valid names when none is near; "" when there are none."""
    names = sorted(set(valid))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"{what}: {', '.join(names)}" if names else ""
