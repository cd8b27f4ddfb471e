"""Reasoning between two tags: where it ends, and how it reads."""

from __future__ import annotations

from typing import Final

from plugins.think_tags.tags import tags_of

_CODE: Final = "`"


class Block:
    """One stretch of reasoning, behind its opening tag.

    `opening` inside nests; with "" nothing nests, and any of `closings` ends the block. Tags in code do neither.
    Where a nested tag was opened, a closing tag is the end only if no other follows: a model that merely speaks of the
    tag does not close it. What follows is then held, for it may be the answer.
    """

    def __init__(self, opening: str, *closings: str) -> None:
        # A tag that closes, too, cannot nest.
        self._opening = "" if opening in closings else opening
        self._tags = tags_of(*closings, self._opening) if self._opening else tags_of(*closings)
        self._depth = 1
        self._held = ""
        # From where the held text has not been looked at, and the last character before it.
        self._from = 0
        self._last = ""
        # The number of code marks on the line that was read up to a place of the held text.
        self._marks = 0
        self._read = 0
        # Where the closing tag that may be the last begins and ends.
        self._doubt: tuple[int, int] | None = None

    def feed(self, piece: str) -> tuple[str, str | None]:
        """The reasoning that is certain, and what follows the block's end; None: it has not ended."""
        self._held += piece
        end = self._look()
        if end is not None:
            return self._held[: end[0]], self._held[end[1] :]
        return self._release(self._doubt[0] if self._doubt else self._from), None

    def flush(self) -> tuple[str, str | None]:
        """What was held as reasoning, or, behind a closing tag that was the last, what follows it; as in `feed`."""
        end = self._look(last=True) or self._doubt
        if end is not None:
            return self._held[: end[0]], self._held[end[1] :]
        self._from = len(self._held)
        return self._release(self._from), None

    def _look(self, *, last: bool = False) -> tuple[int, int] | None:
        """Where the tag that ends the block begins and ends; `last`: nothing more comes."""
        held = self._held
        while True:
            found = self._tags.find(held, self._from)
            end = found.at + len(found.tag)
            closes = found.tag != self._opening
            if not found.tag or (closes and not last and end == len(held) and self._in_code(found.at)):
                self._from = found.at
                return None
            self._from = end
            if not closes:
                self._depth += self._before(found.at) != _CODE
            elif held[end : end + 1] != _CODE or not self._in_code(found.at):
                self._depth -= 1
                if not self._depth:
                    return found.at, end
                self._doubt = (found.at, end)

    def _before(self, at: int) -> str:
        return self._held[at - 1] if at else self._last

    def _in_code(self, at: int) -> bool:
        """Whether a code mark stands directly before this place that opens code on its line."""
        self._count(at)
        return self._before(at) == _CODE and self._marks % 2 == 1

    def _count(self, end: int) -> None:
        """Count the code marks up to a place, which only moves on."""
        line = self._held.rfind("\n", self._read, end) + 1
        self._marks = self._held.count(_CODE, line or self._read, end) + (0 if line else self._marks)
        self._read = end

    def _release(self, end: int) -> str:
        """Let go what is held up to a place."""
        self._count(max(end, self._read))
        certain, self._held = self._held[:end], self._held[end:]
        self._from -= end
        self._read -= end
        self._last = certain[-1:] or self._last
        if self._doubt is not None:
            self._doubt = (self._doubt[0] - end, self._doubt[1] - end)
        return certain


class Trimmed:
    """The reasoning of one answer without the blanks at the ends of its blocks; those between two blocks are kept."""

    def __init__(self) -> None:
        self._joint = ""
        self._blanks = ""
        self._said = False
        self._begun = False

    def begin(self, blanks: str) -> None:
        """A block begins, `blanks` behind the one before."""
        self._joint = blanks if self._said else ""
        self._blanks = ""
        self._begun = False

    def say(self, text: str) -> str:
        """The text of a piece; blanks at its end wait for more text."""
        text = self._blanks + text
        if not self._begun:
            text = text.lstrip()
        kept = text.rstrip()
        self._blanks = text[len(kept) :]
        if kept and not self._begun:
            self._begun = self._said = True
            return self._joint + kept
        return kept
