"""Deltas of one network read put together: pieces of the same block become one piece, and one event for the client.

An engine that is faster than its reader has many pieces in one read, and writing each by itself would cost more than
all else that is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.deltas import Delta, Text, Thinking, ToolUse

_Piece = Text | Thinking | ToolUse


def joined_runs(deltas: Iterable[Delta]) -> list[Delta]:
    """The same answer in as few deltas as can be."""
    out: list[Delta] = []
    run: list[str] = []
    first: _Piece | None = None
    for delta in deltas:
        if isinstance(delta, Text | Thinking):
            if delta.__class__ is first.__class__:
                run.append(delta.text)
                continue
            piece = delta.text
        elif isinstance(delta, ToolUse):
            if isinstance(first, ToolUse) and delta.index == first.index and not delta.id:
                run.append(delta.arguments)
                continue
            piece = delta.arguments
        else:
            if first is not None:
                out.append(_one(first, run))
            first = None
            out.append(delta)
            continue
        if first is not None:
            out.append(_one(first, run))
        first, run = delta, [piece]
    if first is not None:
        out.append(_one(first, run))
    return out


def _one(first: _Piece, run: list[str]) -> Delta:
    if len(run) == 1:
        return first
    said = "".join(run)
    return ToolUse(first.index, said, first.id, first.name) if isinstance(first, ToolUse) else first.__class__(said)
