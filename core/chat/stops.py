"""Why an answer ended, from what the engine says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.chat.completion import Chunk, the_choice, the_delta
from core.deltas import Delta, Stop, StopReason, ToolUse

FINISH_REASONS: Final = ("stop", "length", "tool_calls", "content_filter")
"""The words of chat completions for the end of an answer."""

_AS_THEY_ARE: Final[Mapping[str, str]] = {}


class FinishReason:
    """Reads `finish_reason` alone: for engines that do not report which stop matched.

    A call in the answer wins over `stop` (vLLM, TGI and others end a call with it); `tool_calls` without a call is a
    plain end; `length` and `content_filter` win over calls. `words` says which of FINISH_REASONS
    an engine's own word stands for; a word that is in neither is a plain end. Raises ValueError for any other in it.
    """

    def __init__(self, words: Mapping[str, str] = _AS_THEY_ARE) -> None:
        if words and (wrong := set(words.values()) - {*FINISH_REASONS}):
            raise ValueError(f"words stand for one of {', '.join(FINISH_REASONS)}, not {', '.join(sorted(wrong))}")
        self._words = words
        self._finish: str | None = None
        self._calls = False
        self._refused = False

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas as they are."""
        if not self._calls:
            for delta in deltas:
                if delta.__class__ is ToolUse:
                    self._calls = True
        choice = the_choice(chunk)
        if choice:
            finish = choice.get("finish_reason")
            if finish:
                self._finish = str(finish)
            if the_delta(choice).get("refusal"):
                self._refused = True
        self.look(chunk, choice)
        return deltas

    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:
        """A place for subclasses to read the engine's own report of the stop; `choice` is {} where there is none."""

    def flush(self) -> Sequence[Delta]:
        """The `Stop`, if the engine gave a finish_reason."""
        if self._finish is None:
            return []
        sequence = self.matched()
        return [Stop("stop_sequence", sequence)] if sequence is not None else [Stop(self._reason(self._finish))]

    def matched(self) -> str | None:
        """The client's stop sequence that ended the answer, if the engine said so."""
        return None

    def _reason(self, finish: str) -> StopReason:
        finish = self._words.get(finish, finish)
        if finish == "content_filter" or self._refused:
            return "refusal"
        if finish == "length":
            return "max_tokens"
        return "tool_use" if self._calls else "end_turn"


class StopField(FinishReason):
    """Also reads the field of the choice that names the match: a string that the client asked for.

    Anything else in it is a plain end: a token id (int), null, or a stop string that the engine's template brought.
    """

    def __init__(self, field: str, stop_sequences: Sequence[str], words: Mapping[str, str] = _AS_THEY_ARE) -> None:
        super().__init__(words)
        self._field = field
        self._wanted = stop_sequences
        self._match: str | None = None

    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Remember the match."""
        value = choice.get(self._field)
        if value is not None and isinstance(value, str) and value in self._wanted:
            self._match = value

    def matched(self) -> str | None:
        """The match."""
        return self._match


class VerboseStop(StopField):
    """llama.cpp's report, given when the request says `"verbose": true`: `__verbose.stopping_word`.

    It stands at the chunk's top, with `stop_type` "word" when a stop string ended the answer.
    """

    def __init__(self, stop_sequences: Sequence[str]) -> None:
        super().__init__("", stop_sequences)

    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Remember the match."""
        verbose = chunk.get("__verbose")
        if isinstance(verbose, dict) and verbose.get("stop_type") == "word":
            word = verbose.get("stopping_word")
            if isinstance(word, str) and word in self._wanted:
                self._match = word


class StopKind(FinishReason):
    """Reads a `finish_reason` of its own for a stop string, which does not say which one: TGI's `stop_sequence`.

    When the client asked for just one it was that one. Of several none is named, and the end is a plain one.
    """

    def __init__(
        self, stop_sequences: Sequence[str], kind: str = "stop_sequence", words: Mapping[str, str] = _AS_THEY_ARE
    ) -> None:
        super().__init__(words)
        self._kind = kind
        self._only = stop_sequences[0] if len(set(stop_sequences)) == 1 else None

    def matched(self) -> str | None:
        """The one stop sequence there was."""
        return self._only if self._finish == self._kind else None
