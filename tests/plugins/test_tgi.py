from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from core.chat import Chunk, ChunkReader
from core.deltas import Stop, ToolUse
from plugins.tgi import TGI
from tests.plugins.backends import ENDED, FULL, HI, ROUTE, WIRE, Backend, loop

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


@pytest.mark.parametrize("file", ["tools.json", "tools_stream.sse"])
def test_a_call(file: str) -> None:
    reader = ChunkReader()
    calls = called([*reader.feed((WIRE / "tgi" / file).read_bytes()), *reader.flush()])
    assert "".join(call.arguments for call in calls).replace(" ", "") == '{"city":"Paris"}'
    assert [call.id for call in calls if call.id] == ["0"]


def test_two_equal_calls_under_one_index_stay_two() -> None:
    function = {"name": "f", "arguments": '{"x":1}'}
    calls = [{"index": 0, "id": identity, "function": function} for identity in ("0", "1")]
    found = called([{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls])
    assert [call.id for call in found if call.id] == ["0", "1"]
    assert "".join(call.arguments for call in found) == '{"x":1}' * 2


def called(chunks: Sequence[Chunk]) -> list[ToolUse]:
    content = BACKEND.manager.hook.translate_content(request=HI, route=ROUTE)
    deltas = [*(delta for chunk in chunks for delta in content.feed(chunk)), *content.flush()]
    return [delta for delta in deltas if isinstance(delta, ToolUse)]


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]
