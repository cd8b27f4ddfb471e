"""Structured logs: one JSON object per line on standard output."""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import structlog

from core.lines import Lines

_DEEP: Final = 8
"""Levels of values in values that a line is written with, where orjson does not take it."""


def configure_logs() -> None:
    """Let structlog write JSON lines; called once by the application, never on import."""
    lines = Lines(sys.stdout.buffer)
    structlog.configure(
        processors=[_line],
        wrapper_class=_logger_class(),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    atexit.register(lines.end)


def _logger_class() -> type[Any]:
    """structlog's own, but `log` takes no detours: they would take three times as long as the line."""
    names = {getattr(logging, name.upper()): name for name in ("debug", "info", "warning", "error", "critical")}
    base: Any = structlog.make_filtering_bound_logger(0)

    def log(self: Any, level: int, event: str, *values: Any, **fields: Any) -> Any:
        if values or self._context or level not in names or self._processors[-1] is not _line:
            return base.log(self, level, event, *values, **fields)
        fields["event"] = event
        return self._logger.msg(_line(self._logger, names[level], fields))

    return type("Logger", (base,), {"log": log})


def _line(logger: Any, level: str, event: MutableMapping[str, Any]) -> bytes:
    """All that is to be done for a line: a chain of structlog's processors takes five times as long."""
    event["level"] = level
    event["timestamp"] = datetime.now(UTC)
    if "exc_info" in event:
        event = dict(structlog.processors.format_exc_info(logger, level, event))
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_UTC_Z)
    except TypeError:
        # A lone surrogate or an endless number out of a request must not cost the line.
        return orjson.dumps(_plain(event, _DEEP), option=orjson.OPT_UTC_Z)


def _plain(value: Any, deep: int) -> Any:
    """What every JSON reader takes; below so many levels it is a text."""
    if value is None or isinstance(value, bool | float | datetime):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, dict) and deep:
        return {_text(key): _plain(each, deep - 1) for key, each in value.items()}
    if isinstance(value, list | tuple) and deep:
        return [_plain(each, deep - 1) for each in value]
    return _text(value)


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()
