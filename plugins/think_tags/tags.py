"""The tags that models write around their reasoning, and how to find them in text that may be cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import attrs

PAIRS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>commentary<|message|>", "<|end|>"),
)
"""Opening and closing tags: DeepSeek, Qwen and most others; Gemini; Seed; Mistral; Kimi; Command A; gpt-oss."""

MARKS: Final = ("<|start|>assistant", "<|channel|>final<|message|>")
"""What gpt-oss writes between its reasoning and its answer, when the engine leaves it in the text."""


class Tags:
    """Strings to find. `begin` looks at the start of a text, `find` anywhere in it."""

    def __init__(self, tags: Iterable[str]) -> None:
        # The longest first, so that of two that begin alike the longer one is found.
        self._tags = tuple(sorted(set(tags), key=lambda tag: (-len(tag), tag)))
        self._first = frozenset(tag[0] for tag in self._tags)
        self._any = re.compile("|".join(map(re.escape, self._tags)) or "(?!)")
        self._longest = max((len(tag) for tag in self._tags), default=0)

    def begin(self, text: str) -> str | None:
        """The tag that the text begins with; "" for none, None while it may still become a (longer) one."""
        if text[:1] not in self._first:
            return None if not text else ""
        for tag in self._tags:
            if text.startswith(tag):
                return tag
            if tag.startswith(text):
                return None
        return ""

    def find(self, text: str, start: int = 0) -> Found:
        """The first tag from `start` on; without one, where the text's end may become one."""
        if match := self._any.search(text, start):
            return Found(match.start(), match.group())
        for at in range(max(start, len(text) - self._longest + 1), len(text)):
            if text[at] in self._first and any(tag.startswith(text[at:]) for tag in self._tags):
                return Found(at, "")
        return Found(len(text), "")


@lru_cache(maxsize=64)
def tags_of(*tags: str) -> Tags:
    """These tags; a plugin's are the same for all answers, and are made ready once."""
    return Tags(tags)


@attrs.frozen
class Found:
    """A place in a text: `at` a tag begins, or, where `tag` is "", what may become one."""

    at: int
    tag: str
