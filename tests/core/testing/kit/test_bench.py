"""The bench serves an answer in all modes, and tells what is left open."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from core.testing.kit.bench import Bench, copied
from tests.core.testing.kit.backends_for_tests import FACTS, Straight


def test_every_mode_whole_and_in_pieces() -> None:
    bench = Bench((Straight,), FACTS)
    played = dict(bench.serve(bench.engine.answer(text="Hi"), bytewise=True))
    assert {place.partition(",")[0] for place in played} == {"client stream", "client JSON"}
    assert "client JSON, upstream stream, byte by byte" in played
    assert all(reply.message["content"] == [{"type": "text", "text": "Hi"}] for reply in played.values())


def test_what_reaches_the_engine() -> None:
    bench = Bench((Straight,), FACTS)
    assert bench.sent({"temperature": 0.5})["temperature"] == 0.5
    assert bench.sent({}, bench.assembly({"extra_body": {"seed": 7}}))["seed"] == 7


def test_plugins_are_loaded_once_for_each_table() -> None:
    bench = Bench((Straight,), FACTS)
    assert bench.assembly() is bench.assembly()
    assert bench.assembly({"max_stops": 2}) is not bench.assembly()


def test_an_answer_that_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.testing.kit.bench.PATIENCE", 0.05)

    class Waits(Straight):
        def call(self, *arguments: Any) -> Any:
            return Forever()

    with pytest.raises(AssertionError, match=r"did not end within 0\.05 seconds"):
        Bench((Waits,), FACTS).serve(b"")


class Forever:
    async def __aenter__(self) -> Any:
        await anyio.sleep_forever()

    async def __aexit__(self, *error: object) -> None:
        pass


def test_a_copy_shares_nothing() -> None:
    value: dict[str, Any] = {"a": [1]}
    copied(value)["a"].append(2)
    assert value == {"a": [1]}
