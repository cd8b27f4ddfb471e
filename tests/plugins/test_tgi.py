from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.chat import ChunkReader
from core.deltas import Stop, Text, ToolUse
from plugins.tgi import TGI, TGIContent
from tests.plugins.backends import ENDED, HI, WIRE, Backend, loop

BACKEND = Backend(TGI())


def test_the_body() -> None:
    body = BACKEND.body()
    assert (body["max_tokens"], body["stop"]) == (9, ["5", "END"])
    assert not {"top_k", "parallel_tool_calls", "reasoning_effort"} & set(body)


@pytest.mark.parametrize(("asked", "sent"), [("client-model", "upstream-model"), ("upstream-model", "tgi")])
def test_the_model_s_name(asked: str, sent: str) -> None:
    assert BACKEND.body(attrs.evolve(HI, model=asked))["model"] == sent


def test_a_turn_with_calls_has_no_text() -> None:
    turn = BACKEND.body(loop())["messages"][1]
    assert (turn["content"], len(turn["tool_calls"])) == (None, 1)


@pytest.mark.parametrize(
    ("stops", "expected"), [(("END",), Stop("stop_sequence", "END")), (("END", "5"), ENDED), ((), ENDED)]
)
def test_the_one_stop_is_the_match(stops: tuple[str, ...], expected: Stop) -> None:
    assert BACKEND.recorded("tgi/stop.json", *stops).stop == expected
    assert BACKEND.recorded("tgi/stop_stream.sse", *stops).stop == expected


def test_calls_get_ids_of_their_own() -> None:
    ids = set()
    for file in ("tools.json", "tools_stream.sse"):
        content = TGIContent()
        reader = ChunkReader()
        chunks = [*reader.feed((WIRE / "tgi" / file).read_bytes()), *reader.flush()]
        deltas = [*(delta for chunk in chunks for delta in content.feed(chunk)), *content.flush()]
        calls = [delta for delta in deltas if isinstance(delta, ToolUse)]
        assert "".join(call.arguments for call in calls).replace(" ", "") == '{"city":"Paris"}'
        ids |= {call.id for call in calls if call.id}
    assert len(ids) == 2
    assert "0" not in ids


@pytest.mark.parametrize("calls", [None, 7, [None, 7, {"id": None}], {"id": "0"}])
def test_calls_of_any_shape(calls: Any) -> None:
    assert list(TGIContent().feed({"choices": [{"delta": {"content": "a", "tool_calls": calls}}]}))[:1] == [Text("a")]
