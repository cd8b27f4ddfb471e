"""The two translators of an answer, in a row: chunks to deltas, and the stop found among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, get_args

from core.culprit import FAULTS
from core.deltas import Delta, Stop
from core.hookspecs import Chunk, ContentTranslator, StopTranslator

_DELTAS: Final[tuple[type, ...]] = get_args(Delta)


class Blame(Protocol):
    """Notes on an exception whose object raised it: hook, method, and the chunk that it was given."""

    def __call__(self, error: BaseException, hook: str, method: str, chunk: Chunk | None = None) -> None:
        """Add the note."""


def no_blame(error: BaseException, hook: str, method: str, chunk: Chunk | None = None) -> None:
    """Notes nothing."""


class Translation:
    """One answer's translators. What a translator raises is noted with `blame`, and leaves as it is."""

    def __init__(self, content: ContentTranslator, stop: StopTranslator, blame: Blame = no_blame) -> None:
        self._content = content
        self._stop = stop
        self._blame = blame
        self._done = False

    def feed(self, chunks: list[Chunk]) -> tuple[list[Delta], bool]:
        """The deltas of one network read, and whether a Stop was among them: then nothing after it counts."""
        out: list[Delta] = []
        for chunk in chunks:
            hook, made = "translate_content", None
            try:
                made = _sequence(self._content.feed(chunk))
                hook = "translate_stop"
                deltas = _sequence(self._stop.feed(chunk, made))
                stopped = _ends(deltas)
            except FAULTS as error:
                self._blame(error, _first_wrong(hook, made), "feed", chunk)
                raise
            out += deltas
            if stopped:
                self._done = True
                return out, True
        return out, False

    def flush(self) -> tuple[list[Delta], bool]:
        """What was held, once; whether it ended in a Stop."""
        if self._done:
            return [], False
        self._done = True
        hook, made = "translate_content", None
        try:
            made = _sequence(self._content.flush())
            hook = "translate_stop"
            deltas = [*_sequence(self._stop.feed({}, made)), *_sequence(self._stop.flush())]
            return deltas, _ends(deltas)
        except FAULTS as error:
            self._blame(error, _first_wrong(hook, made), "flush")
            raise


def _sequence(deltas: Sequence[Delta]) -> Sequence[Delta]:
    if not isinstance(deltas, list | tuple):
        raise TypeError(f"gave {type(deltas).__name__}, not a list of deltas")
    return deltas


def _ends(deltas: Sequence[Delta]) -> bool:
    """Whether a Stop is among them. Raises TypeError for what is no delta."""
    stopped = False
    for delta in deltas:
        if isinstance(delta, Stop):
            stopped = True
        elif not isinstance(delta, _DELTAS):
            raise TypeError(f"gave a list with {type(delta).__name__}, which is no delta")
    return stopped


def _first_wrong(hook: str, made: Sequence[Delta] | None) -> str:
    """The hook to blame: a stop translator is innocent of what is no delta when it was given it."""
    return hook if made is None or all(isinstance(delta, _DELTAS) for delta in made) else "translate_content"
