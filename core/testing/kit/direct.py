"""The backend's own objects, driven without a gateway: its translators, chunk by chunk, and its call."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

import attrs

from core.deltas import Delta
from core.pipeline import Back
from core.request import Message, Request, TextBlock
from core.route import Candidate, Route
from core.testing.assemble import BACKEND, UPSTREAM_MODEL
from core.testing.fold_checks import need
from core.testing.kit.engine import Engine
from core.testing.kit.rewriting import Chunk, copied

ROUTE: Final = Route((Candidate(BACKEND, UPSTREAM_MODEL),))


def asking(text: str = "Hi", **fields: Any) -> Request:
    """A client's request for a message."""
    turns = (Message("user", (TextBlock(text),)),)
    usual = {"model": "client-model", "messages": turns, "max_tokens": 256, "stream": True}
    return Request("message", **{**usual, **fields})


@attrs.define(eq=False)
class Translators:
    """The two translators of one answer of this engine, what they were given, and what each step gave.

    `given` are the chunks that they saw, `before` what each of these was before they did.
    """

    back: Back
    request: Request
    engine: Engine
    given: list[Chunk] = attrs.field(factory=list)
    before: list[Chunk] = attrs.field(factory=list)
    steps: list[list[Delta]] = attrs.field(factory=list)
    _content: Any = attrs.field(init=False)
    _stop: Any = attrs.field(init=False)
    _usual: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._content = self.back.translate_content(self.request, ROUTE)
        self._stop = self.back.translate_stop(self.request, ROUTE)
        # What the call makes of a chunk is what the translators get to see.
        self._usual = getattr(self.back.call_upstream(self.request, ROUTE), "usual", None)

    def feed(self, chunk: Chunk) -> list[Delta]:
        """One chunk of the usual form, made the engine's, through both."""
        mine = copied(self.engine.own(chunk))
        mine = self._usual(mine) if self._usual is not None else mine
        self.given.append(mine)
        self.before.append(deepcopy(mine))
        deltas = _checked(
            self._stop.feed(mine, _checked(self._content.feed(mine), "translate_content")), "translate_stop"
        )
        self.steps.append(deltas)
        return deltas

    def flush(self) -> list[Delta]:
        """The end of the chunks."""
        held = _checked(self._stop.feed({}, _checked(self._content.flush(), "translate_content")), "translate_stop")
        deltas = [*held, *_checked(self._stop.flush(), "translate_stop")]
        self.steps.append(deltas)
        return deltas

    def run(self, chunks: Sequence[Chunk]) -> list[Delta]:
        """All chunks and the end; what came of them."""
        for chunk in chunks:
            self.feed(chunk)
        self.flush()
        return [delta for step in self.steps for delta in step]


def _checked(deltas: Any, hook: str) -> list[Delta]:
    need(isinstance(deltas, list | tuple), f"{hook} gave {type(deltas).__name__}, not a list of deltas")
    return list(deltas)
