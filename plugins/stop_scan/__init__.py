"""The wrapper `stop_scan`: finds the client's stop sequences in the answer itself, whatever the engine can and tells.

`automaton.py` and `matcher.py` find them, `scanner.py` cuts the answer there, `tokens.py` counts what is left. The
engine gets no stop sequences, unless it stops just where the scan would and says so.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, Literal

import attrs

from core import Request, StopTranslator, UpstreamCall, hookimpl
from core.chat import Call, Dialect
from plugins.stop_scan.scanner import Scanner, Scope

ALL: Final[tuple[Scope, ...]] = ("text", "thinking", "tools")
SPLITTER: Final = "think_tags"
"""The wrapper that is listed where a model leaves its reasoning in the text."""


@attrs.frozen(eq=False)
class StopScan:
    """Finds the stop sequences in what is written, cuts there and ends the upstream call."""

    scopes: tuple[Literal["text", "thinking", "tools", "everything"], ...] = attrs.field(
        default=("text",), validator=attrs.validators.min_len(1)
    )
    """Where a stop sequence counts: in the answer's text, in its reasoning, in the arguments of its tool calls."""
    upstream: Literal["auto", "never"] = "auto"
    """Whether the engine is sent the stop sequences: `auto` where it stops as the scan does and says so, or never."""

    @hookimpl(wrapper=True)
    def call_upstream(self, request: Request) -> Generator[None, UpstreamCall, UpstreamCall]:
        """The call without stop sequences, streaming, so that it can be ended at the match."""
        call = yield
        if not request.stop_sequences or not isinstance(call, Call) or self._engine_does(request, call):
            return call
        stream = True if call.stream is None else call.stream
        return attrs.evolve(call, request=attrs.evolve(call.request, stop_sequences=()), stream=stream)

    @hookimpl(wrapper=True)
    def translate_stop(self, request: Request) -> Generator[None, StopTranslator, StopTranslator]:
        """The backend's own translator, scanned."""
        inner = yield
        sequences = [sequence for sequence in request.stop_sequences if sequence]
        return Scanner(inner, request, sequences, self._scanned()) if sequences else inner

    def _scanned(self) -> tuple[Scope, ...]:
        return ALL if "everything" in self.scopes else tuple(scope for scope in ALL if scope in self.scopes)

    def _engine_does(self, request: Request, call: Call) -> bool:
        """Whether the engine takes these stop sequences, tells the match, and looks for it in no other place."""
        dialect = call.client.dialect(call.dialect)
        if self.upstream == "never" or not _takes(request, dialect):
            return False
        backend = call.client.backend
        inline = SPLITTER in (*backend.plugins, *(backend.wraps or ()))
        return _reach(request, dialect, inline=inline) <= {*self._scanned()}


def _takes(request: Request, dialect: Dialect) -> bool:
    number = len(request.stop_sequences)
    most = {"": 0, "kind": 1, "match": number}[dialect.stop_report]
    if dialect.max_stops is not None:
        most = min(most, dialect.max_stops)
    return number <= most and dialect.stop and dialect.takes(dialect.stop_field)


def _reach(request: Request, dialect: Dialect, *, inline: bool) -> set[Scope]:
    """Where the engine would find a stop sequence: engines match them in all that they write.

    `inline`: its model writes reasoning into the text, which a wrapper takes out of it.
    """
    reach: set[Scope] = {"text"}
    if request.tools:
        reach.add("tools")
    if dialect.stop_report == "match" or inline:
        reach.add("thinking")
    return reach
