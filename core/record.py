"""What is known about one request when it is over: the source of its log line."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import attrs

from core.deltas import Delta, Stop, Usage
from core.errors import GatewayError
from core.request import HTTPRequest, Request
from core.route import Route


@attrs.frozen
class Missed:
    """A backend that did not serve a request, although it was its turn.

    `reason` is one word: the kind of its error, `cooling` (it failed others a moment ago) or `full`; `why` is a text.
    """

    backend: str
    reason: str
    why: str


@attrs.define(eq=False)
class Record:
    """The story of one request, filled in as it goes. Times are seconds of the monotonic clock."""

    http: HTTPRequest
    started: float = attrs.field(factory=time.monotonic)
    pipeline: str = ""
    key: str = ""
    """The name of the client's key, by whoever checks keys."""
    request: Request | None = None
    route: Route | None = None
    """The candidate that served, or was asked last."""
    attempts: list[Missed] = attrs.field(factory=list)
    """The candidates before it, and why they did not serve; that one, too, where all failed."""
    status: int = 0
    accepted: float = 0.0
    """When the upstream took the request."""
    first_delta: float = 0.0
    """When the first piece of the answer was there: the first token."""
    first: float = 0.0
    """When the first bytes went to the client."""
    ended: float = 0.0
    """When the last ones had gone, or the client had left."""
    usage: Usage | None = None
    stop: Stop | None = None
    error: GatewayError | None = None
    left: bool = False
    faults: int = 0
    """How often a plugin, or the gateway itself, failed on it."""
    trace_id: str = ""
    """The trace that the request belongs to, by whoever traces it: 32 hexadecimal digits."""

    def note(self, deltas: Sequence[Delta]) -> None:
        """Remember what the deltas say about tokens and the end, and when the first came."""
        for delta in deltas:
            if isinstance(delta, Usage):
                self.usage = delta
            elif isinstance(delta, Stop):
                self.stop = delta
            elif not self.first_delta:
                self.first_delta = time.monotonic()

    def fields(self) -> dict[str, Any]:
        """The log line's fields: who asked for what, who answered, times in milliseconds, tokens, and how it ended."""
        http, request, began = self.http, self.request, self.started
        out: dict[str, Any] = {
            "id": http.id,
            "pipeline": self.pipeline,
            "client": http.client,
            "agent": http.header("user-agent"),
            "method": http.method,
            "path": http.mount + http.path,
            "status": self.status,
            "ms": _ms(began, self.ended or time.monotonic()),
        }
        if request is not None:
            out["task"], out["model"], out["stream"] = request.task, request.model, request.stream
        if self.route is not None:
            first = self.route.candidates[0]
            out["backend"], out["upstream_model"] = first.backend, first.model
        if self.key:
            out["key"] = self.key
        if self.attempts:
            out["tried"] = "; ".join(f"{missed.backend}: {missed.why}" for missed in self.attempts)
        if self.accepted:
            out["accepted_ms"] = _ms(began, self.accepted)
        if self.first_delta:
            out["first_delta_ms"] = _ms(began, self.first_delta)
        if self.first:
            out["first_ms"] = _ms(began, self.first)
        self._add_end(out)
        return out

    @property
    def level(self) -> int:
        """How loud the line is: an error that is the server's own or the upstream's is one, the client's a warning."""
        if self.error is None:
            return logging.INFO
        return logging.ERROR if self.error.status >= 500 else logging.WARNING

    def _add_end(self, out: dict[str, Any]) -> None:
        if self.usage is not None:
            out["input_tokens"], out["output_tokens"] = self.usage.input_tokens, self.usage.output_tokens
        if self.stop is not None:
            out["stop_reason"], out["stop_sequence"] = self.stop.reason, self.stop.sequence
        if self.error is not None:
            out["error"], out["message"] = self.error.kind, self.error.message
            if self.error.__cause__ is not None:
                out["cause"] = f"{type(self.error.__cause__).__name__}: {self.error.__cause__}"
        if self.left:
            out["left"] = True
        if self.trace_id:
            out["trace_id"] = self.trace_id


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 1)
