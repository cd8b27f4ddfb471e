"""The wrapper `think_tags`: reasoning that the engine leaves in the text, between tags, becomes reasoning.

`tags.py` has the tags and finds them, `block.py` reads reasoning to its end, `splitter.py` tells it from the answer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import attrs

from core import Chunk, ContentTranslator, Delta, Request, Text, TextBlock, Thinking, ToolUse, hookimpl
from plugins.think_tags.splitter import Splitter
from plugins.think_tags.tags import MARKS, PAIRS


def _check_pairs(_: object, __: object, pairs: Sequence[Sequence[str]]) -> None:
    for pair in pairs:
        if len(pair) != 2 or any(tag != tag.strip() or not tag for tag in pair):
            raise ValueError("each pair must be an opening and a closing tag, without blanks around")
    openings = [opening for opening, _ in pairs]
    if not pairs or len(set(openings)) < len(openings):
        raise ValueError("there must be a pair, and no two with the same opening tag")
    tags = {*MARKS, *(tag for pair in pairs for tag in pair)}
    for tag in sorted(tags):
        # One that ends a longer tag does no harm: the longer one has begun before.
        longer = next((other for other in sorted(tags) if tag in other[:-1]), None)
        if longer is not None:
            place = "the beginning" if longer.startswith(tag) else "a part"
            raise ValueError(f"{tag!r} is {place} of {longer!r}: which of them came could not be told")


@attrs.frozen(eq=False)
class ThinkTags:
    """Takes reasoning between tags out of the text."""

    pairs: tuple[tuple[str, ...], ...] = attrs.field(default=PAIRS, validator=_check_pairs)
    """Opening and closing tags."""
    opened: bool = False
    """Whether answers begin inside the reasoning, because the model's template has already written the opening tag;
    one that continues the client's own beginning of it does not."""

    @hookimpl(wrapper=True)
    def translate_content(self, request: Request) -> Generator[None, ContentTranslator, ContentTranslator]:
        """The backend's own translator, its text split."""
        inner = yield
        opened = self.opened and not _continues(request)
        return Untagged(inner, Splitter([(opening, closing) for opening, closing in self.pairs], opened=opened))


def _continues(request: Request) -> bool:
    """Whether the answer goes on where the last turn, the model's own, ends with text: behind all reasoning."""
    said = [turn for turn in request.messages if turn.role != "system" and turn.content]
    last = said[-1] if said else None
    return last is not None and last.role == "assistant" and isinstance(last.content[-1], TextBlock)


class Untagged:
    """A content translator around another one."""

    def __init__(self, inner: ContentTranslator, splitter: Splitter) -> None:
        self._inner = inner
        self._splitter = splitter

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The chunk's deltas, tagged reasoning among them told apart."""
        return self._split(self._inner.feed(chunk))

    def flush(self) -> Sequence[Delta]:
        """What was held here and there."""
        return [*self._split(self._inner.flush()), *self._splitter.flush()]

    def _split(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        splitter = self._splitter
        if splitter.plain:
            return deltas
        out: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, Text):
                out += splitter.feed(delta.text)
                continue
            if isinstance(delta, Thinking):
                out += splitter.reasoned()
            elif isinstance(delta, ToolUse):
                out += splitter.flush()
            out.append(delta)
        return out
