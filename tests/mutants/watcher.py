"""A wrapper that stands between backend and gateway, and notes what passes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.lowlevel
import attrs

from core import Chunk, Delta, Request, Stop, ToolUse, hookimpl
from tests.mutants.scenes import Upstream


class Watcher:
    """A wrapper that notes what passes, and does what the scene wants of a wrapper."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.begin()

    def begin(self) -> None:
        """The next scene."""
        self.deltas: list[Any] = []
        self.entering: list[str] = []

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Iterator[None]:
        call: Any = yield
        if self.upstream.scene.intercepts:
            return _instead()  # type: ignore[return-value]
        rewrites = self.upstream.scene.rewrites
        if rewrites:
            call = attrs.evolve(call, request=attrs.evolve(call.request, **rewrites))
        return self._watched(call)  # type: ignore[return-value]

    @hookimpl(wrapper=True)
    def translate_stop(self, request: Request) -> Iterator[None]:
        inner: Any = yield
        return None if inner is None else _Watched(self, inner)  # type: ignore[return-value]

    @asynccontextmanager
    async def _watched(self, call: Any) -> AsyncIterator[Any]:
        self.entering.append("begun")
        async with call as batches:
            self.entering.append("accepted")
            yield batches


@asynccontextmanager
async def _instead() -> AsyncIterator[Any]:
    async def batches() -> AsyncIterator[list[Chunk]]:
        for _ in range(9):
            await anyio.lowlevel.checkpoint()
        yield [{"choices": [{"index": 0, "delta": {"content": "kept"}, "finish_reason": "stop"}]}]

    yield batches()


class _Watched:
    """A stop translator that notes what the plugin's gives."""

    def __init__(self, watcher: Watcher, inner: Any) -> None:
        self.watcher, self.inner, self.fed = watcher, inner, 0

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.fed += 1
        out = self._note(self.inner.feed(chunk, deltas))
        return [*out, Stop("end_turn")] if self.fed == self.watcher.upstream.scene.halt else out

    def flush(self) -> Sequence[Delta]:
        return self._note(self.inner.flush())

    def _note(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        named = [
            attrs.evolve(delta, id=given_id(delta.id, delta.index)) if isinstance(delta, ToolUse) else delta
            for delta in deltas
        ]
        self.watcher.deltas.append((self.watcher.upstream.reads, named))
        return deltas


def given_id(identity: str, number: int) -> str:
    """The id that the engine gave; for one that was made here its place."""
    made = identity.startswith("toolu_") and len(identity) == len("toolu_") + 24
    return f"made {number}" if made else identity
