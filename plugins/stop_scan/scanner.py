"""The stop translator around a backend's own: looks for the client's stop sequences in what is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import attrs

from core import Chunk, Delta, Request, State, Stop, StopTranslator, Text, Thinking, ToolUse, Usage
from plugins.stop_scan.automaton import Automaton
from plugins.stop_scan.matcher import Matcher
from plugins.stop_scan.tokens import CutTokens

Scope = Literal["text", "thinking", "tools"]
"""A kind of writing: the answer's text, its reasoning, the arguments of its tool calls."""


_TEXT: Final[tuple[Scope, int]] = ("text", 0)
_THINKING: Final[tuple[Scope, int]] = ("thinking", 0)


class Scanner:
    """Cuts one answer at the first stop sequence that is written in one of the scopes.

    A sequence is found within one run of text, of reasoning, or of one call's arguments, never across two of them.
    """

    def __init__(self, inner: StopTranslator, request: Request, sequences: Sequence[str], scopes: Sequence[Scope]):
        self._inner = inner
        self._scopes = scopes
        # The client gets no call but the first where it asked for one at a time.
        self._one_call = request.tool_choice is not None and not request.tool_choice.parallel
        self._matcher = Matcher(Automaton(sequences))
        self._tokens = CutTokens(request)
        # What is being written now (None: nothing that is scanned), and how held text becomes a delta of it.
        self._run: tuple[Scope, int] | None = None
        self._say: Callable[[str], Delta] = Text
        self._passed: list[str] = []

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas, what may become a match held back; at a match the cut, the counts and the `Stop`."""
        found = self._inner.feed(chunk, deltas)
        if len(found) == 1 and self._passes(found[0]):
            return found
        self._count()
        out: list[Delta] = []
        for delta in found:
            self._take(delta, out)
        return self._ended(out)

    def flush(self) -> Sequence[Delta]:
        """What was held, and what the backend's own translator says."""
        self._count()
        out: list[Delta] = []
        for delta in self._inner.flush():
            self._take(delta, out)
        self._let_go(out)
        return self._ended(out)

    def _passes(self, delta: Delta) -> bool:
        """Whether it is one more piece of a run and can go as it is: nearly all are such."""
        kind, run = delta.__class__, self._run
        if run is None or self._matcher.found is not None:
            return False
        if (kind is Text and run is _TEXT) or (kind is Thinking and run is _THINKING):
            text: str = delta.text  # type: ignore[union-attr]
            if run[0] not in self._scopes or self._matcher.passes(text):
                self._passed.append(text)
                return True
        return False

    def _count(self) -> None:
        if self._passed:
            text = "".join(self._passed)
            self._passed.clear()
            self._tokens.written.add(text)
            self._tokens.kept.add(text)

    def _ended(self, out: list[Delta]) -> list[Delta]:
        """The deltas with the end behind them, when the match was found in them."""
        sequence = self._matcher.found
        return out if sequence is None else [*out, self._tokens.usage(), Stop("stop_sequence", sequence)]

    def _take(self, delta: Delta, out: list[Delta]) -> None:
        if isinstance(delta, Usage | State):
            # Neither ends a block of the client's: what is written goes on behind them.
            if isinstance(delta, Usage):
                self._tokens.tell(delta)
            self._pass(delta, out)
        elif isinstance(delta, Text):
            self._write(delta, delta.text, _TEXT, Text, out)
        elif isinstance(delta, Thinking):
            self._write(delta, delta.text, _THINKING, Thinking, out)
        elif isinstance(delta, ToolUse):
            self._call(delta, out)
        else:
            self._let_go(out)
            if isinstance(delta, Stop) and delta.sequence is not None:
                self._reported(delta.sequence, out)
            self._pass(delta, out)

    def _call(self, piece: ToolUse, out: list[Delta]) -> None:
        if piece.name:
            # The head has nothing to scan, and must not wait for the arguments.
            self._let_go(out)
            self._tokens.written.add(piece.name)
            if self._matcher.found is None:
                self._tokens.kept.add(piece.name)
                out.append(attrs.evolve(piece, arguments=""))
            piece = ToolUse(piece.index, piece.arguments)
        if piece.arguments:
            index = piece.index
            self._write(piece, piece.arguments, ("tools", index), lambda text: ToolUse(index, text), out)

    def _reported(self, sequence: str, out: list[Delta]) -> None:
        """The engine itself stopped at a sequence; one that did not count it generated that at least."""
        if not self._tokens.told:
            self._tokens.written.add(sequence)
            self._tokens.kept.add(sequence)
            self._pass(self._tokens.usage(), out)

    def _write(
        self, delta: Delta, text: str, run: tuple[Scope, int], say: Callable[[str], Delta], out: list[Delta]
    ) -> None:
        """Scan one piece of a run; a new run begins its scan anew."""
        self._tokens.written.add(text)
        if self._run != run:
            self._let_go(out)
            self._run, self._say = run, say
        if self._matcher.found is not None:
            return
        if run[0] in self._scopes and not (self._one_call and run[1]):
            self._give(self._matcher.feed(text), out)
        else:
            self._tokens.kept.add(text)
            out.append(delta)

    def _let_go(self, out: list[Delta]) -> None:
        """Something else follows: what is held goes first."""
        if self._matcher.found is None:
            self._give(self._matcher.flush(), out)
        self._run = None

    def _give(self, text: str, out: list[Delta]) -> None:
        if text:
            self._tokens.kept.add(text)
            out.append(self._say(text))
        if self._matcher.found is not None:
            self._tokens.kept.add(self._matcher.found)

    def _pass(self, delta: Delta, out: list[Delta]) -> None:
        """A delta as it is, unless the answer was cut before it."""
        if self._matcher.found is None:
            out.append(delta)
