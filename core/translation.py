"""The two translators of an answer, in a row: chunks to deltas, and the stop found among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Protocol

from core.delta_faults import fault_of
from core.deltas import Delta, Stop, Text, Thinking
from core.hookspecs import Chunk, ContentTranslator, StopTranslator
from core.raised import ANYTHING, raise_fault
from core.runs import joined_runs


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
        for chunk in chunks if chunks.__class__ is list else self._no_chunks(chunks):
            if chunk.__class__ is not dict:
                self._no_chunks(chunks)
            hook, made = "translate_content", None
            try:
                made = _sequence(self._content.feed(chunk))
                hook = "translate_stop"
                deltas = _sequence(self._stop.feed(chunk, made))
                stopped = _ends(deltas)
            except ANYTHING as error:
                self._blame(error, _first_wrong(hook, made), "feed", chunk)
                raise_fault(error)
            out += deltas
            if stopped:
                self._done = True
                break
        return (joined_runs(out) if len(out) > 1 else out), self._done

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
        except ANYTHING as error:
            self._blame(error, _first_wrong(hook, made), "flush")
            raise_fault(error)

    def _no_chunks(self, chunks: object) -> NoReturn:
        """What the call gave is no list of chunks: that is its own fault, no translator's."""
        what = type(chunks).__name__
        if isinstance(chunks, list):
            what = f"a list with {next(type(each).__name__ for each in chunks if type(each) is not dict)}"
        error = TypeError(f"gave {what}, not a list of chunks")
        self._blame(error, "call_upstream", "call")
        raise error


def _sequence(deltas: Sequence[Delta]) -> Sequence[Delta]:
    if deltas.__class__ is not list and not isinstance(deltas, list | tuple):
        raise TypeError(f"gave {type(deltas).__name__}, not a list of deltas")
    return deltas


def _ends(deltas: Sequence[Delta]) -> bool:
    """Whether a Stop is among them. Raises TypeError for what is no delta."""
    stopped = False
    for delta in deltas:
        kind = delta.__class__
        if (kind is Text or kind is Thinking) and delta.text.__class__ is str:  # type: ignore[union-attr]
            continue  # nearly all are such: the rest is looked at with more care
        if fault := fault_of(delta):
            raise TypeError(f"gave a list with {fault}")
        stopped = stopped or kind is Stop
    return stopped


def _first_wrong(hook: str, made: Sequence[Delta] | None) -> str:
    """The hook to blame: a stop translator is innocent of what is no delta when it was given it."""
    return hook if made is None or not any(map(fault_of, made)) else "translate_content"
