"""A correct backend with places to bend it, so that each rule can be seen to find what it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from core import Chunk, Delta, Request, Route, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, StopField, UpstreamClient
from core.testing.kit.bench import Bench
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule
from core.testing.kit.run import outcome

FACTS = EngineFacts(stop_field="stop_reason")


@attrs.frozen(eq=False)
class Straight:
    """Nothing wrong."""

    dialect = Dialect(max_stops=8)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return self.call(request, route, client)

    @hookimpl
    def translate_content(self) -> Any:
        return self.content()

    @hookimpl
    def translate_stop(self, request: Request) -> Any:
        return self.stop(request)

    def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return Call(request, route, client, self.dialect)

    def content(self) -> Any:
        return Content(ReasoningField("reasoning_content"))

    def stop(self, request: Request) -> Any:
        return StopField("stop_reason", request.stop_sequences)


class Bent(Content):
    """Content whose chunks, deltas or last deltas are changed."""

    def __init__(
        self,
        chunk: Callable[[Chunk], Chunk] = lambda chunk: chunk,
        deltas: Callable[[Sequence[Delta]], Sequence[Delta]] = lambda deltas: deltas,
        last: Callable[[Sequence[Delta]], Sequence[Delta]] = lambda deltas: deltas,
    ) -> None:
        super().__init__(ReasoningField("reasoning_content"))
        self._chunk, self._deltas, self._last = chunk, deltas, last

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        return self._deltas(super().feed(self._chunk(chunk)))

    def flush(self) -> Sequence[Delta]:
        return self._last(super().flush())


def said(rule: Rule, backend: type, facts: EngineFacts = FACTS, **options: Any) -> str:
    """What the rule says of the backend; "" when it holds."""
    tables = {backend.__name__: options} if options else {}
    return outcome(rule, Bench((backend,), facts, tables))[1]
