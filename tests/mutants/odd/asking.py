"""Faults in what Quokka is asked."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from core import Request, Route, UpstreamCall
from core.chat import Call, UpstreamClient
from tests.mutants.odd.quokka import DIALECT, PROBLEM, Quokka


class _Asks(Quokka):
    changes: ClassVar[dict[str, Any]] = {}

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, attrs.evolve(DIALECT, **self.changes), problem=PROBLEM)


class LimitRenamed(_Asks):
    """The token limit is sent under its usual name."""

    changes: ClassVar[dict[str, Any]] = {"max_tokens_field": "max_tokens"}


class LimitUnlimited(_Asks):
    """More tokens are asked for than the engine takes."""

    changes: ClassVar[dict[str, Any]] = {"max_tokens_limit": None}


class ImagesSent(_Asks):
    """Images are sent, which the engine does not take."""

    changes: ClassVar[dict[str, Any]] = {"images": "data"}


class SchemaSent(_Asks):
    """A schema is sent as `response_format`, which the engine does not take."""

    changes: ClassVar[dict[str, Any]] = {"response_format": "json_schema"}


class UsageAskedFor(_Asks):
    """A stream is asked for its usage, which the engine does not know."""

    changes: ClassVar[dict[str, Any]] = {"stream_usage": True}


class ToolForced(_Asks):
    """A tool is forced, which the engine does not take."""

    changes: ClassVar[dict[str, Any]] = {"tool_choice": ("auto", "any", "tool")}
