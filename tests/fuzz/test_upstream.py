"""Whatever an upstream sends, the client's side is whole: one protocol, one end, and nothing that is not its business."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.testing import Assembly, Reply
from core.testing.assemble import StreamSetting
from core.testing.replay import Replayer, replayer
from core.testing.split import cut
from tests.fuzz.answers import mutated, recordings, status_of
from tests.fuzz.profile import fuzz

RECORDED = recordings()
HOST, KEY, TOKEN = "engine.inner.test", "sk-upstream-secret", "tok-0123456789abcdef"
FORBIDDEN = (HOST, KEY, TOKEN, "Traceback (most")
BACKEND = {"url": f"http://{HOST}:8000/v1", "key": KEY, "headers": {"x-engine-token": TOKEN}}
REQUEST = {
    "stop_sequences": ["5", "END"],
    "tools": [{"name": name, "input_schema": {"type": "object"}} for name in ("get_weather", "get_time")],
}
WITHIN = 20.0
"""Seconds in which an answer must be over: nothing in it waits, so it only fails when it hangs."""


class Stage:
    """One gateway of a backend that is asked to stream, and one that is not."""

    def __init__(self, plugin: str) -> None:
        self._runner = asyncio.Runner()
        assembly = Assembly(
            [plugin], backend=BACKEND if plugin != "azure" else {**BACKEND, "query": {"api-version": "1"}}
        )
        self._contexts: list[Any] = []
        self._players = [self._open(assembly, setting) for setting in ("never", "always")]

    def _open(self, assembly: Assembly, setting: StreamSetting) -> Replayer:
        context = replayer(assembly, setting)
        self._contexts.append(context)
        return self._runner.run(context.__aenter__())

    def play(self, pieces: list[bytes], *, stream: bool, upstream: bool, status: int) -> Reply:
        async def run() -> Reply:
            async with asyncio.timeout(WITHIN):
                return await self._players[upstream].play(pieces, request=REQUEST, stream=stream, status=status)

        return self._runner.run(run())

    def close(self) -> None:
        for context in reversed(self._contexts):
            self._runner.run(context.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage(request.param)
    yield made
    made.close()


def cuts() -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0, 1), max_size=6)


def pieces_of(data: bytes, places: list[float]) -> list[bytes]:
    return cut(data, sorted({int(place * len(data)) for place in places} - {0, len(data)}))


@pytest.mark.parametrize(("stage", "plugin"), [(name, name) for name in RECORDED], indirect=["stage"])
def test_a_broken_answer_gives_a_whole_one_or_an_error(stage: Stage, plugin: str) -> None:
    one = st.sampled_from(RECORDED[plugin])

    @fuzz(40)
    @given(
        one.flatmap(lambda path: st.tuples(st.just(path), mutated(path))),
        cuts(),
        st.booleans(),
        st.booleans(),
        st.sampled_from((*[None] * 20, 200, 400, 401, 429, 500, 503)),
    )
    def check(
        recorded: tuple[Path, bytes], places: list[float], stream: bool, upstream: bool, other: int | None
    ) -> None:
        path, data = recorded
        status = other or status_of(path)
        reply = stage.play(pieces_of(data, places), stream=stream, upstream=upstream, status=status)
        hold(reply, stream=stream, status=status)

    check()


@pytest.mark.parametrize("stage", ["openai"], indirect=True)
def test_an_answer_of_any_bytes(stage: Stage) -> None:
    @fuzz(150)
    @given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode), cuts(), st.booleans(), st.booleans())
    @example(b"", [], True, True)
    @example(b"[" * 100_000, [], True, False)
    @example(b"data: " + b'{"a":' * 100_000 + b"\n\n", [0.3], True, True)
    def check(data: bytes, places: list[float], stream: bool, upstream: bool) -> None:
        hold(
            stage.play(pieces_of(data, places), stream=stream, upstream=upstream, status=200), stream=stream, status=200
        )

    check()


def hold(reply: Reply, *, stream: bool, status: int) -> None:
    """What must hold of every answer; that it keeps to the protocol, and that no fault was logged, was checked."""
    said = reply.body.decode() + repr(sorted(reply.headers.items()))
    assert not [word for word in FORBIDDEN if word in said]
    assert reply.sent is not None
    assert reply.closed, "the upstream's answer was left open"
    assert reply.headers["request-id"]
    if reply.error is None:
        assert status < 400
        assert reply.message["stop_reason"] is not None
        assert reply.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    else:
        assert reply.message.get("stop_reason") is None
        assert reply.status >= 400 or stream
