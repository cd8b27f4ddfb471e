"""Faults in state that requests share, in options, and in the hooks themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from core import Chunk, ContentTranslator, Delta, Request, Route, StopTranslator, UpstreamCall, hookimpl
from core.chat import Content, Reasoning, ReasoningField, StopField, UpstreamClient
from tests.mutants.reference import Correct


class MatchOnTheClass(Correct):
    """The matched stop sequence is kept on a class: later answers report it, too."""

    def stop(self, request: Request) -> StopTranslator:
        return _Remembering("stop_reason", request.stop_sequences)


class _Remembering(StopField):
    found: ClassVar[list[str]] = []

    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:
        super().look(chunk, choice)
        if self._match is not None:
            self.found[:] = [self._match]

    def matched(self) -> str | None:
        return self.found[0] if self.found and self.found[0] in self._wanted else None


@attrs.frozen(eq=False)
class OneTranslatorForAll(Correct):
    """All requests share one content translator."""

    shared: Content = attrs.field(init=False, factory=Content)

    def content(self, request: Request) -> ContentTranslator:
        return self.shared


@attrs.frozen(eq=False)
class ConcurrentRequestsMixed(Correct):
    """The answer's state is kept on the plugin: right one after another, mixed side by side."""

    current: list[StopField] = attrs.field(init=False, factory=list)

    def stop(self, request: Request) -> StopTranslator:
        self.current[:] = [StopField("stop_reason", request.stop_sequences)]
        return _Current(self.current)


class _Current:
    """Speaks for whatever translator was made last."""

    def __init__(self, current: list[StopField]) -> None:
        self.current = current

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return self.current[0].feed(chunk, deltas)

    def flush(self) -> Sequence[Delta]:
        return self.current[0].flush()


@attrs.frozen(eq=False)
class StopMadeOnce(Correct):
    """The stop translator is made for the first request and kept for all."""

    kept: list[StopTranslator] = attrs.field(init=False, factory=list)

    def stop(self, request: Request) -> StopTranslator:
        if not self.kept:
            self.kept.append(StopField("stop_reason", request.stop_sequences))
        return self.kept[0]


class OptionIgnored(Correct):
    """The option `reasoning_field` is accepted and not used."""

    def reasoning(self) -> Reasoning:
        return ReasoningField("reasoning_content", "reasoning")


class HookMisspelt:
    """A hook is misspelt: translate_contents."""

    def __init__(self) -> None:
        self.right = Correct()

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return self.right.call(request, route, client)

    @hookimpl
    def translate_contents(self, request: Request) -> ContentTranslator:
        return self.right.content(request)

    @hookimpl
    def translate_stop(self, request: Request) -> StopTranslator:
        return self.right.stop(request)


class HookAsync(Correct):
    """A hook is an async function."""

    @hookimpl
    async def translate_stop(self, request: Request) -> StopTranslator:  # type: ignore[override]
        return self.stop(request)


class HookAnswersNone(Correct):
    """translate_stop answers None for a client that streams."""

    @hookimpl
    def translate_stop(self, request: Request) -> StopTranslator | None:  # type: ignore[override]
        return None if request.stream else self.stop(request)
