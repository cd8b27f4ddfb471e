from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from core import Secret
from core.chat import Call
from core.testing import Assembly, ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from core.testing.kit.direct import ROUTE, asking
from core.testing.replay import replay
from tests.mutants import mutants_in, subtle
from tests.mutants.scenes import Scene
from tests.mutants.test_usage import CACHED
from tests.mutants.witness import Witness, assert_mutant, witness

TOOLS = {"tools": [{"name": "Look", "input_schema": {"type": "object"}}]}
LOOK = UpstreamToolCall("Look", "{}", "call_a")
CALLING = UpstreamAnswer(text=None, tool_calls=(LOOK,), finish_reason="tool_calls")
FRAGMENT = {"index": 0, "id": "call_a", "function": {"name": "Look", "arguments": "{}"}}


def stream(*deltas: dict[str, object]) -> bytes:
    last = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    choices = [*({"index": 0, "delta": delta, "finish_reason": None} for delta in deltas), last]
    return Framing().stream([{"choices": [choice]} for choice in choices])


SIGNED = stream({"tool_calls": [{**FRAGMENT, "extra_content": {"signature": "s"}}]})
LATER = stream({"tool_calls": [FRAGMENT]}, {"reasoning_content": "Hm."})
REASONED = {**CACHED, "completion_tokens_details": {"reasoning_tokens": 5}}


def said(text: str, piece: int = 4) -> Scene:
    return Scene(UpstreamAnswer(text=text, shape=ChunkShape(piece)))


WITNESSES: dict[str, Witness] = {
    "ReasoningCutShort": witness("message", Scene(UpstreamAnswer(reasoning="word " * 60))),
    "ReasoningBetweenCallsLost": witness("message", Scene(LATER, TOOLS)),
    "TextUnindented": witness("message", said("    code", 0)),
    "TextUnescaped": witness("message", said("&lt;b&gt;", 0)),
    "TextNormalised": witness("message", said("\ufb01le")),
    "ZerosDropped": witness("message", said("100", 1)),
    "NamesLowered": witness("message", Scene(CALLING, TOOLS)),
    "ReasoningTokensTakenOff": witness("message", Scene(UpstreamAnswer(usage=REASONED))),
    "CallStateLost": witness("deltas", Scene(SIGNED, TOOLS)),
    "ToolsNotStreamed": witness("sent", Scene(UpstreamAnswer(), TOOLS)),
    "StopsUnlimited": witness("status", Scene(UpstreamAnswer(), {"stop_sequences": list("12345")})),
    "KeyInBody": witness("sent", Scene(backend={"key": Secret("k-4711")})),
    "ByteOrderMarkBreaks": witness(
        "message", Scene(b"\xef\xbb\xbf" + UpstreamAnswer(text="One two", shape=ChunkShape(role="none")).sse())
    ),
}
ELSEWHERE = {"KeyInLog", "SecretIsPlain", "OptionUntyped", "CancelledStaysOpen"}
"""Faults that no scene shows: a test of their own does, or, of one that needs a cancelled task, its rule."""


@pytest.mark.parametrize("name", WITNESSES)
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(subtle)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert {*WITNESSES, *ELSEWHERE} == mutants_in(subtle).keys()


def test_a_key_in_the_log() -> None:
    back = Assembly([subtle.KeyInLog], None, {"key": "k-4711"}).back()
    call = back.call_upstream(asking(), ROUTE)
    assert isinstance(call, Call)
    with capture_logs() as log:
        call.body()
    assert "k-4711" in str(log)


def test_a_secret_that_is_shown() -> None:
    assert "4711" in repr(subtle.SecretIsPlain(token="4711"))


def test_an_option_that_takes_anything() -> None:
    reply = replay([subtle.OptionUntyped], [CALLING.json()], options={"OptionUntyped": {"tries": {"a": []}}})
    assert reply.status == 200
