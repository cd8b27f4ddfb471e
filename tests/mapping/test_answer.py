"""The body of an answer: every test plays it whole and streamed, on both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.testing import UpstreamAnswer, UpstreamToolCall, assert_split_invariant
from tests.mapping.wire import BACKENDS, Wire, without_made

CALL = UpstreamToolCall("f", '{"x":1}', "call_1")
NO_TEXT: dict[str, Any] = {"text": None, "finish_reason": "tool_calls"}


def edited(answer: UpstreamAnswer, **fields: Any) -> bytes:
    """A whole answer's bytes with further fields in its message."""
    value = answer.completion()
    value["choices"][0]["message"].update(fields)
    return json.dumps(value).encode()


def test_id(wire: Wire) -> None:
    ids = {wire.answer(UpstreamAnswer())["id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(identity.startswith("msg_") for identity in ids)


def test_fields(wire: Wire) -> None:
    message = wire.answer(UpstreamAnswer(text="A", top={"system_fingerprint": "x", "service_tier": "default"}))
    assert (
        message.items()
        >= {
            "type": "message",
            "role": "assistant",
            "model": "client-model",
            "content": [{"type": "text", "text": "A"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
        }.items()
    )


@pytest.mark.parametrize("text", [None, ""])
def test_no_content(wire: Wire, text: str | None) -> None:
    assert wire.answer(UpstreamAnswer(text=text))["content"] == []


@pytest.mark.parametrize(
    ("backend", "fields"),
    [
        ("vllm", ("reasoning",)),
        ("vllm", ("reasoning_content",)),
        ("sglang", ("reasoning_content",)),
        ("llama_cpp", ("reasoning_content",)),
        ("ollama", ("reasoning",)),
        ("lm_studio", ("reasoning_content",)),
        ("lmdeploy", ("reasoning_content",)),
        ("tensorrt_llm", ("reasoning_content",)),
        ("tensorrt_llm", ("reasoning_content", "reasoning")),
        ("transformers_serve", ("reasoning_content",)),
        ("openai", ("reasoning_content",)),
        ("azure", ("reasoning_content",)),
        ("deepseek", ("reasoning_content",)),
        ("openrouter", ("reasoning",)),
        ("openrouter", ("reasoning", "reasoning_content")),
        ("groq", ("reasoning",)),
    ],
)
def test_reasoning(wire: Wire, backend: str, fields: tuple[str, ...]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", reasoning="hm, so", reasoning_fields=fields), backend)
    assert without_made(message["content"]) == [
        {"type": "thinking", "thinking": "hm, so"},
        {"type": "text", "text": "A"},
    ]
    assert message["content"][0]["signature"]


def test_reasoning_in_parts(wire: Wire) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    parts = [thinking, {"type": "text", "text": "A"}]
    message = wire.answer(edited(UpstreamAnswer(), content=parts), "mistral")
    assert without_made(message["content"]) == [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}]


@pytest.mark.parametrize("backend", ["tgi", "openai", "vllm"])
def test_reasoning_inside_the_text(wire: Wire, backend: str) -> None:
    text = "<think>hm</think>A"
    assert wire.answer(UpstreamAnswer(text=text), backend)["content"] == [{"type": "text", "text": text}]


def test_refusal(wire: Wire) -> None:
    message = wire.answer(UpstreamAnswer(text=None, refusal="I cannot."))
    assert message["content"] == [{"type": "text", "text": "I cannot."}]
    assert message["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    ("finish", "calls", "reason"),
    [
        ("stop", (), "end_turn"),
        ("stop", (CALL,), "tool_use"),
        ("tool_calls", (CALL,), "tool_use"),
        ("tool_calls", (), "end_turn"),
        ("length", (), "max_tokens"),
        ("length", (CALL,), "max_tokens"),
        ("content_filter", (), "refusal"),
        ("a word of its own", (), "end_turn"),
    ],
)
def test_finish_reason(wire: Wire, finish: str, calls: tuple[UpstreamToolCall, ...], reason: str) -> None:
    assert wire.answer(UpstreamAnswer(finish_reason=finish, tool_calls=calls))["stop_reason"] == reason


def test_no_finish_reason(wire: Wire) -> None:
    done = UpstreamAnswer(finish_reason=None)
    assert wire.answer(done)["stop_reason"] == "end_turn"
    called = UpstreamAnswer(finish_reason=None, tool_calls=(CALL,), text=None)
    assert wire.answer(called)["stop_reason"] == "tool_use"


MATCHED: list[tuple[str, dict[str, Any]]] = [
    ("vllm", {"choice": {"stop_reason": "END"}}),
    ("sglang", {"choice": {"matched_stop": "END"}}),
    ("tensorrt_llm", {"choice": {"stop_reason": "END"}}),
    ("llama_cpp", {"top": {"__verbose": {"stop_type": "word", "stopping_word": "END"}}}),
    ("tgi", {"finish_reason": "stop_sequence"}),
]


@pytest.mark.parametrize(("backend", "report"), MATCHED)
def test_matched_stop(wire: Wire, backend: str, report: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", **report), backend, stop_sequences=["END"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
    assert message["content"] == [{"type": "text", "text": "A"}]


@pytest.mark.parametrize(("backend", "report"), MATCHED[:-1])
def test_a_stop_that_nobody_asked_for(wire: Wire, backend: str, report: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", **report), backend, stop_sequences=["FIN"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in dict(MATCHED[:-1])])
def test_stop_sequence_in_the_text(wire: Wire, backend: str) -> None:
    message = wire.answer(UpstreamAnswer(text="A END B"), backend, stop_sequences=["EN", "END", "FIN"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
    assert message["content"] == [{"type": "text", "text": "A "}]


def test_counts_of_a_cut_answer(wire: Wire) -> None:
    long = UpstreamAnswer(text="A END" + "B" * 995, usage={"prompt_tokens": 30, "completion_tokens": 250})
    for mode, reply in wire.replies(long, stop_sequences=["END"]).items():
        usage = reply.message["usage"]
        assert mode.upstream or usage["input_tokens"] == 30
        assert 0 < usage["output_tokens"] < 5


def test_reasoning_between_tags() -> None:
    tagged = UpstreamAnswer(text="<think>\nT\n</think>\n\nA")
    for reply in assert_split_invariant(["openai", "think_tags"], tagged, cuts=()).values():
        thinking, text = reply.message["content"]
        assert (thinking["thinking"], text["text"]) == ("T", "A")
    for reply in assert_split_invariant(["openai"], tagged, cuts=()).values():
        assert reply.message["content"] == [{"type": "text", "text": tagged.text}]


def test_repeated_prefill(wire: Wire) -> None:
    talk = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "One, two,"}]
    for text, new in (("One, two, three", " three"), (" three", " three"), ("One, three", "One, three")):
        message = wire.answer(UpstreamAnswer(text=text), "llama_cpp", messages=talk)
        assert message["content"] == [{"type": "text", "text": new}]
    message = wire.answer(UpstreamAnswer(text="One, two, three"), "llama_cpp")
    assert message["content"] == [{"type": "text", "text": "One, two, three"}]


def test_code_fence(wire: Wire) -> None:
    fenced = "```json\n{}\n```"
    form = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    message = wire.answer(UpstreamAnswer(text=fenced), "transformers_serve", output_config=form)
    assert message["content"] == [{"type": "text", "text": fenced}]


def test_further_choices(wire: Wire) -> None:
    value = UpstreamAnswer(text="A").completion()
    value["choices"] += [{**value["choices"][0], "index": 1, "message": {"role": "assistant", "content": "B"}}]
    value["choices"][0]["logprobs"] = {"content": []}
    message = wire.answer(json.dumps(value).encode())
    assert message["content"] == [{"type": "text", "text": "A"}]


def test_annotations(wire: Wire) -> None:
    cited = edited(UpstreamAnswer(text="A"), annotations=[{"type": "url_citation", "url_citation": {"url": "u"}}])
    assert wire.answer(cited)["content"] == [{"type": "text", "text": "A"}]
