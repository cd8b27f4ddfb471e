"""Faults in the token counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from core import Chunk, ContentTranslator, Delta, Request, Usage
from tests.mutants.reference import Correct, Steps


class _Counts(Correct):
    """A backend whose counts are told by `count`, made anew for each answer; None: none is told."""

    def content(self, request: Request) -> ContentTranslator:
        translator = _Counted(self.reasoning())
        translator.count = self.counter()
        return translator

    def counter(self) -> Callable[[Usage], Usage | None]:
        return lambda usage: usage


class _Counted(Steps):
    count: Callable[[Usage], Usage | None]

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        told = [self.count(delta) if isinstance(delta, Usage) else delta for delta in deltas]
        return [delta for delta in told if delta is not None]


class UsageLost(_Counts):
    """Token counts are lost."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        return lambda usage: None


class UsageOnlyFirst(_Counts):
    """Of the counts that grow from chunk to chunk only the first are told."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        seen: list[Usage] = []

        def first(usage: Usage) -> Usage | None:
            seen.append(usage)
            return usage if len(seen) == 1 else None

        return first


class UsageSwapped(_Counts):
    """The prompt's and the completion's tokens are swapped."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        return lambda usage: attrs.evolve(usage, input_tokens=usage.output_tokens, output_tokens=usage.input_tokens)


class UsageCachedTwice(_Counts):
    """Cached tokens, which are part of the prompt's, are added to them again."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        return lambda usage: attrs.evolve(usage, input_tokens=usage.input_tokens + usage.cache_read_tokens)


class UsageSummed(_Counts):
    """Counts that grow from chunk to chunk are added up."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        seen: list[Usage] = []

        def total(usage: Usage) -> Usage:
            seen.append(usage)
            both = (sum(one.input_tokens for one in seen), sum(one.output_tokens for one in seen))
            return attrs.evolve(usage, input_tokens=both[0], output_tokens=both[1])

        return total


class UsageTotalAsOutput(_Counts):
    """The total is told as the completion's tokens."""

    def counter(self) -> Callable[[Usage], Usage | None]:
        return lambda usage: attrs.evolve(usage, output_tokens=usage.input_tokens + usage.output_tokens)


class UsageApartLost(Correct):
    """Counts on a chunk with empty choices, after the finish_reason, are not read."""

    def content(self, request: Request) -> ContentTranslator:
        return _WithChoices(self.reasoning())


class _WithChoices(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return chunk if chunk.get("choices") else {}


class UsageNullCrashes(Correct):
    """A usage that is null raises an AttributeError."""

    def content(self, request: Request) -> ContentTranslator:
        return _Asks(self.reasoning())


class _Asks(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        chunk.get("usage", {}).get("prompt_tokens")
        return chunk


class UsageZeroReplaces(Correct):
    """Zeros on a later chunk replace the real counts."""

    def content(self, request: Request) -> ContentTranslator:
        return _Zeros(self.reasoning())


class _Zeros(Steps):
    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        usage = chunk.get("usage") or {}
        zero = usage and not any(usage.get(f"{name}_tokens") for name in ("prompt", "completion"))
        return [*super().feed(chunk), Usage()] if zero else super().feed(chunk)
