"""One line of the log per request: who asked for what, who answered, how long it took, and how it ended."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import attrs
import structlog

from core import Record, hookimpl


@attrs.frozen(eq=False)
class AccessLog:
    """Writes a line "request" when a request is over. Nothing of what was said is in it, and no key."""

    _log: Any = attrs.field(init=False, repr=False, factory=structlog.get_logger)

    @hookimpl
    def exchange(self, record: Record) -> _Line:
        """A context around the request, which writes the line on leaving."""
        return _Line(record, self._log)


@attrs.frozen(eq=False)
class _Line:
    """The line of one request."""

    record: Record
    log: Any

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.log(self.record.level, "request", **self.record.fields())
