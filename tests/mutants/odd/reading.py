"""Faults in reading Quokka's answers: ends, counts, reasoning, calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from core import Chunk, ContentTranslator, Delta, StopTranslator
from core.chat import Content, FinishReason, UsageField
from tests.mutants.odd.quokka import ENDS, STATS, VOICE, Quokka
from tests.mutants.reference import Steps


class _Ends(Quokka):
    words: ClassVar[Mapping[str, str]] = {}

    def stop(self) -> StopTranslator:
        return FinishReason(self.words)


class _Content(Quokka):
    parts: ClassVar[dict[str, Any]] = {}

    def content(self) -> ContentTranslator:
        return Content(**{"reasoning": VOICE, "usage": STATS, **self.parts})


class EndsUnread(_Ends):
    """The engine's words for the end are not read."""


class CapUnread(_Ends):
    """The end `length_cap` is a plain one."""

    words: ClassVar[Mapping[str, str]] = {word: meaning for word, meaning in ENDS.items() if word != "length_cap"}


class BlockedUnread(_Ends):
    """The end `blocked` is a plain one."""

    words: ClassVar[Mapping[str, str]] = {word: meaning for word, meaning in ENDS.items() if word != "blocked"}


class StatsUnread(_Content):
    """The counts in `stats` are not read."""

    parts: ClassVar[dict[str, Any]] = {"usage": None}


class StatsSwapped(_Content):
    """What went in and what came out are swapped."""

    parts: ClassVar[dict[str, Any]] = {"usage": UsageField("stats", "out", "in")}


class VoiceUnread(_Content):
    """Reasoning in `inner_voice` is not read."""

    parts: ClassVar[dict[str, Any]] = {"reasoning": lambda delta: str(delta.get("reasoning_content") or "")}


class VoiceFirstAlone(_Content):
    """Of the sayings of one chunk only the first is read."""

    parts: ClassVar[dict[str, Any]] = {
        "reasoning": lambda delta: VOICE({"inner_voice": (delta.get("inner_voice") or [])[:1]})
    }


class VoiceBehindText(Quokka):
    """Reasoning is given behind the text of its chunk."""

    def content(self) -> ContentTranslator:
        return _Backwards(VOICE, usage=STATS)


class _Backwards(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return deltas[::-1]


class TagsUnread(Quokka):
    """Reasoning between tags stays in the text."""

    wraps = ("stop_scan",)


class TagsOfOthers(Quokka):
    """Reasoning is looked for between other tags."""

    wraps = ("think_tags", "stop_scan")


class StopsUnfound(Quokka):
    """Nobody looks for the stop sequences that the engine ignores."""

    wraps = Quokka.wraps[:1]


class StopsFoundInReasoning(Quokka):
    """Stop sequences end the answer in the reasoning and in calls, too."""

    wraps = (Quokka.wraps[0], ("stop_scan", {"scopes": ["everything"]}))


class ObjectsUnread(Quokka):
    """Arguments that are an object are lost."""

    def content(self) -> ContentTranslator:
        return _TextAlone(VOICE, usage=STATS)


class _TextAlone(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        for choice in chunk.get("choices") or ():
            for call in (choice.get("delta") or {}).get("tool_calls") or ():
                if isinstance(call["function"].get("arguments"), dict):
                    call["function"]["arguments"] = "{}"
        return chunk
