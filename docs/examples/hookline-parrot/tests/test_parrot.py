"""Parrot server's answers through the whole gateway: the bytes it sent in, the bytes a client reads out."""

from pathlib import Path

import pytest
from core.testing import BackendConformance, EngineFacts, UpstreamAnswer, assert_split_invariant, replay
from core.testing.strategies import answers
from hypothesis import given, settings

from hookline_parrot import Parrot

RECORDED = Path(__file__).parent / "recorded"
ASK = {"messages": [{"role": "user", "content": "Count to ten."}], "stop_sequences": ["5"]}


class TestEveryRule(BackendConformance):
    backend = Parrot
    engine = EngineFacts(reasoning_field="thoughts", stop_field="halted_by", top_k=True)


@pytest.mark.parametrize("name", ["count.sse", "count.json"])
def test_a_recorded_answer_arrives_whole(name: str) -> None:
    for reply in assert_split_invariant([Parrot], (RECORDED / name).read_bytes(), request=ASK).values():
        thinking, text = reply.message["content"]
        assert thinking["thinking"] == "They want to hear me count, and to stop before five. 🦜"
        assert text == {"type": "text", "text": "1, 2, 3, 4, "}
        assert (reply.message["stop_reason"], reply.message["stop_sequence"]) == ("stop_sequence", "5")
        assert reply.message["usage"] == {"input_tokens": 14, "output_tokens": 27}


def test_what_the_server_is_asked() -> None:
    answer = (RECORDED / "count.json").read_bytes()
    reply = replay([Parrot], [answer], request=ASK, options={"Parrot": {"voice": "ara"}})
    assert reply.sent["stop"] == ["5"]
    assert reply.sent["voice"] == "ara"


def test_a_refusal_reaches_the_client() -> None:
    reply = replay([Parrot], [b'{"error": {"message": "the perch is full"}}'], status=429)
    assert reply.status == 429
    assert reply.error == {"type": "rate_limit_error", "message": "the perch is full"}


@settings(max_examples=30, deadline=None)
@given(answers(reasoning_fields=(("thoughts",),), stop_field="halted_by", stops=("5",)))
def test_any_answer_is_the_same_in_both_modes(answer: UpstreamAnswer) -> None:
    for reply in assert_split_invariant([Parrot], answer, request=ASK, cuts=[]).values():
        thinking = [block["thinking"] for block in reply.message["content"] if block["type"] == "thinking"]
        assert thinking == ([answer.reasoning] if answer.reasoning else [])
