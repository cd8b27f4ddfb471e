"""Finds the first of some strings in a text that comes in pieces, and holds back only what may still become one."""

from __future__ import annotations

from plugins.stop_scan.automaton import Automaton


class Matcher:
    """One text. The match that begins first wins, and of those that begin there the longest.

    `found` is that match once it is certain; nothing may be fed after it.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.found: str | None = None
        self._automaton = automaton
        self._state = automaton.root
        self._held = ""
        # Where in what is held the best match so far begins, and its length (0: there is none).
        self._start = 0
        self._length = 0

    def passes(self, piece: str) -> bool:
        """Whether the piece is certain to be before any match, so that it need not be fed: nothing begins in it."""
        return not self._held and self._automaton.first.search(piece) is None

    def feed(self, piece: str) -> str:
        """The text that is certain to be before any match; what is left of it when a match is found."""
        text = self._held + piece
        automaton, state = self._automaton, self._state
        root, at, end = automaton.root, len(self._held), len(text)
        while at < end:
            if state is root:
                begin = automaton.first.search(text, at)
                if begin is None:
                    at = end
                    break
                at = begin.start()
            state = automaton.step(state, text[at])
            at += 1
            if state.longest and (not self._length or at - state.longest <= self._start):
                self._start, self._length = at - state.longest, state.longest
            # Beyond the match's beginning, or at the end of the longest string: nothing better can come.
            if self._length and (at - state.depth > self._start or state.last):
                return self._cut(text)
        begin_at = at - state.depth
        self._state, self._held = state, text[begin_at:]
        self._start -= begin_at
        return text[:begin_at]

    def flush(self) -> str:
        """What was held, as nothing more comes: the text before the best match there was, or all of it."""
        if self._length:
            return self._cut(self._held)
        held, self._held, self._state = self._held, "", self._automaton.root
        return held

    def _cut(self, text: str) -> str:
        self.found = text[self._start : self._start + self._length]
        self._held = ""
        return text[: self._start]
