"""Thinking and effort: what is asked of the engine, and how its reasoning is shown."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from core.testing import UpstreamAnswer
from tests.mapping.wire import ASK, BACKENDS, F, Wire, completion, events_of

REASONED = UpstreamAnswer(text="A", reasoning="hm")
TEMPLATE_ON = {"chat_template_kwargs": {"enable_thinking": True}}
TEMPLATE_OFF = {"chat_template_kwargs": {"enable_thinking": False}}


def switches(wire: Wire, backend: str, **fields: Any) -> dict[str, Any]:
    """What the body says about thinking."""
    plain = wire.sent(backend)
    return {name: value for name, value in wire.sent(backend, **fields).items() if plain.get(name) != value}


@pytest.mark.parametrize(
    ("backend", "effort", "wanted"),
    [
        ("sglang", "max", {"reasoning_effort": "max"}),
        ("lm_studio", "max", {"reasoning_effort": "xhigh"}),
        ("lmdeploy", "xhigh", {"reasoning_effort": "high"}),
        ("mistral", "low", {"reasoning_effort": "high"}),
        ("openrouter", "low", {"reasoning": {"effort": "low"}}),
        ("openai", "low", {}),
        ("tgi", "low", {}),
    ],
)
def test_effort(wire: Wire, backend: str, effort: str, wanted: dict[str, Any]) -> None:
    assert switches(wire, backend, output_config={"effort": effort}) == wanted


def test_effort_of_a_model_named_in_the_table(wire: Wire) -> None:
    table = {"dialect": {"efforts": ("minimal", "low", "medium", "high")}}
    assert wire.sent(output_config={"effort": "max"}, options=table)["reasoning_effort"] == "high"


@pytest.mark.parametrize(
    ("backend", "wanted"),
    [
        ("llama_cpp", {**TEMPLATE_ON, "thinking_budget_tokens": 4096}),
        ("tensorrt_llm", {"thinking": {"type": "enabled"}, "thinking_token_budget": 4096}),
        ("openrouter", {"reasoning": {"max_tokens": 4096}}),
        ("lmdeploy", {**TEMPLATE_ON, "reasoning_effort": "medium"}),
        ("groq", {"reasoning_effort": "medium"}),
        ("openai", {}),
    ],
)
def test_budget(wire: Wire, backend: str, wanted: dict[str, Any]) -> None:
    assert switches(wire, backend, thinking={"type": "enabled", "budget_tokens": 4096}) == wanted


def test_budget_of_a_clamped_request(wire: Wire) -> None:
    table = {"models": {"*": {"backend": "upstream", "max_output_tokens": 1000}}}
    thinking = {"type": "enabled", "budget_tokens": 4096}
    body = wire.sent("vllm", thinking=thinking, max_tokens=8192, options=table)
    assert (body["max_tokens"], body["thinking_token_budget"]) == (1000, 500)


@pytest.mark.parametrize(
    ("budget", "effort"), [(1024, "low"), (2049, "medium"), (8193, "high"), (24577, "xhigh"), (200000, "xhigh")]
)
def test_budget_as_an_effort(wire: Wire, budget: int, effort: str) -> None:
    thinking = {"type": "enabled", "budget_tokens": budget}
    assert switches(wire, "ollama", thinking=thinking) == {"reasoning_effort": effort}
    low = {"effort": "low"}
    assert switches(wire, "ollama", thinking=thinking, output_config=low) == {"reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("backend", "wanted"),
    [
        ("llama_cpp", TEMPLATE_ON),
        ("deepseek", {"thinking": {"type": "enabled"}}),
        ("openrouter", {"reasoning": {"enabled": True}}),
        ("mistral", {"reasoning_effort": "high"}),
        ("ollama", {}),
    ],
)
def test_adaptive(wire: Wire, backend: str, wanted: dict[str, Any]) -> None:
    assert switches(wire, backend, thinking={"type": "adaptive"}) == wanted


@pytest.mark.parametrize("mode", ["disabled", "between_tools"])
@pytest.mark.parametrize(
    ("backend", "wanted"),
    [
        ("llama_cpp", TEMPLATE_OFF),
        ("deepseek", {"thinking": {"type": "disabled"}}),
        ("openrouter", {"reasoning": {"effort": "none"}}),
        ("ollama", {"reasoning_effort": "none"}),
        ("openai", {}),
    ],
)
def test_off(wire: Wire, backend: str, mode: str, wanted: dict[str, Any]) -> None:
    assert switches(wire, backend, thinking={"type": mode}, output_config={"effort": "high"}) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_absent(wire: Wire, backend: str) -> None:
    names = wire.sent(backend).keys() - {"model", "messages", "max_tokens", "max_completion_tokens"}
    extra = {"llama_cpp": {"verbose"}, "groq": {"reasoning_format"}}
    assert names == extra.get(backend, set())
    message = wire.answer(UpstreamAnswer(text="A", reasoning="hm", reasoning_fields=("reasoning",)), "vllm")
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]


def test_budget_and_max_tokens(wire: Wire) -> None:
    few = {"type": "enabled", "budget_tokens": 1023}
    assert wire.refused(thinking=few) == (
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    )
    much = {"type": "enabled", "budget_tokens": 4096}
    assert wire.sent("vllm", thinking=much, max_tokens=1000)["thinking_token_budget"] == 4096


def test_forced_tool(wire: Wire) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert wire.sent(thinking=thinking, tools=[F], tool_choice={"type": "any"})["tool_choice"] == "required"


@pytest.mark.parametrize("display", [None, "summarized", "updates"])
def test_display(wire: Wire, display: str | None) -> None:
    message = wire.answer(REASONED, thinking={"type": "adaptive", "display": display})
    thought, text = message["content"]
    assert (thought["thinking"], text["text"]) == ("hm", "A")
    assert thought["signature"]


def test_display_omitted(wire: Wire) -> None:
    thinking = {"type": "adaptive", "display": "omitted"}
    thought, text = wire.answer(REASONED, thinking=thinking)["content"]
    assert (thought["thinking"], text["text"]) == ("", "A")
    assert thought["signature"]
    events = wire.events(REASONED, thinking=thinking)
    deltas = [event["delta"]["type"] for event in events if event["type"] == "content_block_delta"]
    assert set(deltas) == {"signature_delta", "text_delta"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("backend", ["ollama", "lm_studio", "mistral", "groq", "gemini", "tensorrt_llm"])
def test_a_model_that_cannot(wire: Wire, backend: str, stream: bool) -> None:
    refusal = httpx.Response(400, json={"error": {"message": "this model does not support reasoning_effort"}})
    body = {**ASK, "stream": stream, "output_config": {"effort": "high"}}
    got = wire.ask("/v1/messages", body, refusal, completion(text="A"), backend=backend)
    assert got.status == 200
    first, second = got.sent
    assert first.pop("reasoning_effort") == "high"
    assert second == first
    assert (events_of(got.body)[-1]["type"] if stream else got.json["type"]) == (
        "message_stop" if stream else "message"
    )
