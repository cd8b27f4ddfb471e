"""Structured logs: one JSON object per line on standard output."""

from __future__ import annotations

import sys
from typing import Any

import orjson
import structlog


def configure_logs() -> None:
    """Let structlog write JSON lines; called once by the application, never on import."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        logger_factory=structlog.BytesLoggerFactory(sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )


def _line(event: dict[str, Any], default: Any = None, **_: Any) -> bytes:
    try:
        return orjson.dumps(event, default=default)
    except TypeError:
        # A lone surrogate out of a request's own text must not cost the line.
        return repr(event).encode("ascii", "backslashreplace")
