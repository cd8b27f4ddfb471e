"""Backend plugins that do one thing wrong, so that the kit can be seen to find it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs

from core import Chunk, Delta, Request, Route, Text, ToolUse, hookimpl
from core.chat import Call, Content, FinishReason, UpstreamClient


@attrs.frozen(eq=False)
class Plain:
    """Nothing wrong: a plain backend; `suffix` is put behind every piece of text."""

    suffix: str = ""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return Call(request, route, client)

    @hookimpl
    def translate_stop(self) -> FinishReason:
        return FinishReason()

    @hookimpl
    def translate_content(self, request: Request) -> Any:
        return Altered(self, request)

    def alter(self, request: Request, delta: Delta) -> Delta:
        return Text(delta.text + self.suffix) if isinstance(delta, Text) else delta


class Altered:
    """Content, each delta altered by the plugin."""

    def __init__(self, plugin: Plain, request: Request) -> None:
        self.plugin, self.request, self.inner = plugin, request, Content()

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        return [self.plugin.alter(self.request, delta) for delta in self.inner.feed(chunk)]

    def flush(self) -> Sequence[Delta]:
        return [self.plugin.alter(self.request, delta) for delta in self.inner.flush()]


@attrs.frozen(eq=False)
class LosesChunks(Plain):
    """Of each network read it takes the first chunk and the last."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return thinned(Call(request, route, client))


@asynccontextmanager
async def thinned(call: Call) -> AsyncIterator[AsyncIterator[list[Chunk]]]:
    async def some(batches: AsyncIterator[list[Chunk]]) -> AsyncIterator[list[Chunk]]:
        async for batch in batches:
            yield batch if len(batch) < 3 else [batch[0], batch[-1]]

    async with call as batches:
        yield some(batches)


@attrs.frozen(eq=False)
class ShoutsInStreams(Plain):
    """Its text depends on the client's mode."""

    def alter(self, request: Request, delta: Delta) -> Delta:
        return Text(delta.text.upper()) if isinstance(delta, Text) and request.stream else delta


@attrs.frozen(eq=False)
class RenamesCalls(Plain):
    """Gives every call an id of its own."""

    def alter(self, request: Request, delta: Delta) -> Delta:
        return attrs.evolve(delta, id="mine") if isinstance(delta, ToolUse) and delta.id else delta


@attrs.frozen(eq=False)
class EmptyText(Plain):
    """Breaks the protocol: a text block without text."""

    def alter(self, request: Request, delta: Delta) -> Delta:
        return Text("") if isinstance(delta, Text) else delta


@attrs.frozen(eq=False)
class Raises(Plain):
    """Has a fault of its own."""

    def alter(self, request: Request, delta: Delta) -> Delta:
        raise KeyError("a fault")


@attrs.frozen(eq=False)
class Shouts:
    """A wrapper; the option `mark` is needed."""

    mark: str

    @hookimpl(wrapper=True)
    def translate_content(self) -> Iterator[None]:
        inner = yield
        return Shouting(self.mark, inner)  # type: ignore[return-value]


class Shouting:
    def __init__(self, mark: str, inner: Any) -> None:
        self.mark, self.inner = mark, inner

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        return [Text(d.text.upper() + self.mark) if isinstance(d, Text) else d for d in self.inner.feed(chunk)]

    def flush(self) -> Sequence[Delta]:
        return list(self.inner.flush())
