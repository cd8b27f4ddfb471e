"""Deltas put so that each one of them can be written at once, in a body as in a stream."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core import Delta, State, Stop, Text, Thinking, ToolUse, Usage
from plugins.anthropic.call_ids import CallIds

Piece = Text | Thinking | ToolUse | State
"""A delta that is part of a content block; a State is part of a thinking block."""


def opens_block(piece: Piece, open_kind: type[Piece] | None) -> bool:
    """Whether a piece begins a block, given the kind of the block before it. Raises RuntimeError for a lost piece."""
    if piece.__class__ is not ToolUse:
        return kind_of(piece) is not open_kind
    if not piece.id and open_kind is not ToolUse:
        raise RuntimeError("the first piece of a tool call has no id")
    return bool(piece.id)


def kind_of(piece: Piece) -> type[Piece]:
    """The kind of block that a piece belongs to."""
    return Thinking if piece.__class__ is State else piece.__class__


@attrs.define(eq=False)
class Arranger:
    """Holds a State until a block of its own or the next thinking block can take it, and lets one call through.

    A State that comes while text or a call is being written waits for the end of it: an answer's text shall not fall
    into two blocks where its engine sends something to be kept. With `one_call`, the calls after the first are dropped:
    the client asked for one at a time, and some engines do not know that wish. An id of a call that is among `taken`,
    those of the conversation so far, is made unique.
    """

    one_call: bool = False
    taken: set[str] = attrs.field(factory=set)
    _ids: CallIds = attrs.field(init=False)
    _open: type[Piece] | None = attrs.field(init=False, default=None)
    _held: list[State] = attrs.field(init=False, factory=list)
    _called: bool = attrs.field(init=False, default=False)
    _dropping: bool = attrs.field(init=False, default=False)

    @_ids.default
    def _unique(self) -> CallIds:
        return CallIds(self.taken)

    def feed(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas that can be written now."""
        out: list[Delta] = []
        for delta in deltas:
            kind = delta.__class__
            if kind is self._open and kind is not ToolUse:
                out.append(delta)  # one more piece of the open text or thinking: nearly all are such
            elif isinstance(delta, State):
                (out if self._open is Thinking else self._held).append(self._ids.state(delta))
            elif isinstance(delta, ToolUse):
                if not self._drops(delta):
                    self._piece(self._ids.call(delta), out)
            elif isinstance(delta, Text | Thinking):
                self._piece(delta, out)
            elif isinstance(delta, Usage | Stop):
                out.append(delta)
            else:
                # A translator's mistake must not pass for an answer that says less.
                raise TypeError(f"{type(delta).__name__} is no delta of a message: {delta!r:.80}")
        return out

    def end(self) -> Sequence[State]:
        """What was held at the end of the answer."""
        held, self._held = self._held, []
        return held

    def _piece(self, piece: Piece, out: list[Delta]) -> None:
        if not opens_block(piece, self._open):
            out.append(piece)
            return
        self._open = piece.__class__
        # With the thinking that begins, or in an empty thinking block before what begins.
        out += [piece, *self.end()] if self._open is Thinking else [*self.end(), piece]

    def _drops(self, piece: ToolUse) -> bool:
        if self.one_call and piece.id:
            self._called, self._dropping = True, self._called
        return self._dropping
