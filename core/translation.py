"""The two translators of an answer, in a row: chunks to deltas, and the stop found among them."""

from __future__ import annotations

from core.deltas import Delta, Stop
from core.hookspecs import Chunk, ContentTranslator, StopTranslator


class Translation:
    """One answer's translators."""

    def __init__(self, content: ContentTranslator, stop: StopTranslator) -> None:
        self._content = content
        self._stop = stop
        self._done = False

    def feed(self, chunks: list[Chunk]) -> tuple[list[Delta], bool]:
        """The deltas of one network read, and whether a Stop was among them: then nothing after it counts."""
        out: list[Delta] = []
        for chunk in chunks:
            deltas = self._stop.feed(chunk, self._content.feed(chunk))
            out += deltas
            if any(isinstance(delta, Stop) for delta in deltas):
                self._done = True
                return out, True
        return out, False

    def flush(self) -> tuple[list[Delta], bool]:
        """What was held, once; whether it ended in a Stop."""
        if self._done:
            return [], False
        self._done = True
        deltas = [*self._stop.feed({}, self._content.flush()), *self._stop.flush()]
        return deltas, any(isinstance(delta, Stop) for delta in deltas)
