"""The text of an answer, piece by piece, to reasoning and text."""

from __future__ import annotations

from collections.abc import Sequence

from core import Text, Thinking
from plugins.think_tags.block import Block, Trimmed
from plugins.think_tags.tags import MARKS, tags_of

Said = Thinking | Text


class Splitter:
    """One answer.

    A tag counts at the beginning of the answer, behind blanks, and directly behind reasoning; once text has begun, all
    is text. Blanks around reasoning and between it and the text are dropped. `opened` begins inside the reasoning.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], *, opened: bool = False) -> None:
        self._pairs = dict(pairs)
        self._tags = tags_of(*self._pairs, *self._pairs.values(), *MARKS)
        self._opened = opened
        self._plain = False
        # What may become a tag, and the blanks in front of it.
        self._held = ""
        self._blanks: list[str] = []
        self._tagged = False
        self._block: Block | None = None
        self._thoughts = Trimmed()

    @property
    def plain(self) -> bool:
        """Whether all that follows is text."""
        return self._plain

    def feed(self, piece: str) -> list[Said]:
        """What the piece makes certain."""
        out: list[Said] = []
        self._held += piece
        while self._held and not self._plain:
            if not (self._before() if self._block is None else self._inside(self._block, out)):
                break
        if self._plain and self._held:
            out.append(Text(self._held))
            self._held = ""
        return out

    def flush(self) -> list[Said]:
        """What was held, as nothing more comes, or no text: half a tag is a part of what it stands in."""
        out: list[Said] = []
        if self._block is None and self._opened and (self._held or self._blanks):
            self._begin("", "")
            out += self.feed("")
        if self._block is not None:
            thought, rest = self._block.flush()
            self._think(thought, out)
            if rest is None:
                return out
            self._block, self._held = None, rest
            return [*out, *self.feed(""), *self.flush()]
        self._answer()
        return [*out, *self.feed("")]

    def reasoned(self) -> list[Said]:
        """The engine splits reasoning off by itself, and gives some now: what is held, but for blanks."""
        self._opened = False
        return self.flush() if self._block is not None or self._held else []

    def _before(self) -> bool:
        """Look for a tag where one counts; whether the text can be looked at further."""
        text = self._held.lstrip()
        if len(text) < len(self._held):
            self._blanks.append(self._held[: len(self._held) - len(text)])
            self._held = text
        tag = self._tags.begin(text)
        if tag is None:
            return False
        if tag:
            self._held = text[len(tag) :]
            if tag in self._pairs:
                self._begin(tag, "".join(self._blanks))
            else:
                # A closing tag: the reasoning was empty, or its end is written twice.
                self._opened, self._tagged = False, True
                self._blanks.clear()
        elif self._opened:
            self._begin("", "")
        else:
            self._answer()
        return True

    def _begin(self, opening: str, blanks: str) -> None:
        self._opened, self._tagged = False, True
        self._blanks.clear()
        closings = [self._pairs[opening]] if opening else self._pairs.values()
        self._block = Block(opening, *closings)
        self._thoughts.begin(blanks)

    def _answer(self) -> None:
        self._plain = True
        if not self._tagged:
            self._held = "".join(self._blanks) + self._held
        self._blanks.clear()

    def _inside(self, block: Block, out: list[Said]) -> bool:
        """Let the block take what is held; whether it ended."""
        thought, rest = block.feed(self._held)
        self._think(thought, out)
        self._held = rest or ""
        if rest is None:
            return False
        self._block = None
        return True

    def _think(self, text: str, out: list[Said]) -> None:
        if thought := self._thoughts.say(text):
            out.append(Thinking(thought))
