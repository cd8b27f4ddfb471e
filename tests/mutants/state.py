"""Faults in state that requests share, in options, and in the hooks themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from core import Chunk, ContentTranslator, Delta, Request, Route, StopTranslator, UpstreamCall, UpstreamError, hookimpl
from core.chat import Call, Content, Reasoning, ReasoningField, StopField, UpstreamClient
from tests.mutants.reference import DIALECT, Correct


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
    """What is held of an answer is kept on the plugin: right one after another, mixed side by side."""

    held: list[Delta] = attrs.field(init=False, factory=list)

    def content(self, request: Request) -> ContentTranslator:
        self.held.clear()
        return _OneBehind(self.held, self.reasoning())


class _OneBehind(Content):
    """Lets the deltas of a chunk go with the next."""

    def __init__(self, held: list[Delta], reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.held = held

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        before = list(self.held)
        self.held[:] = super().feed(chunk)
        return before

    def flush(self) -> Sequence[Delta]:
        last = [*self.held, *super().flush()]
        self.held.clear()
        return last


class OptionIgnored(Correct):
    """The option `reasoning_field` is accepted and not used."""

    def reasoning(self) -> Reasoning:
        return ReasoningField("reasoning_content", "reasoning")


class CallEnteredOnce(Correct):
    """The plugin serves one request and refuses every later one."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Once(request, route, client, DIALECT)


class _Once(Call):
    async def __aexit__(self, *error: Any) -> None:
        await super().__aexit__(*error)
        await self.client.aclose()
        self.client.post = _closed  # type: ignore[method-assign]


async def _closed(*_: Any) -> Any:
    raise UpstreamError("the client is closed")


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


class HookCalledPerProcess(Correct):
    """The stop translator is made for the first request and kept for all."""

    kept: ClassVar[list[StopTranslator]] = []

    def stop(self, request: Request) -> StopTranslator:
        if not self.kept:
            self.kept.append(super().stop(request))
        return self.kept[0]
