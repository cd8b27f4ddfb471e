"""Answers written by hand from what an engine's source or documentation says it sends, through its backend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.testing import Assembly, Mode, Reply, assert_split_invariant, replay

WIRE = Path(__file__).parent / "wire"
ENGINES = (
    "azure",
    "deepseek",
    "gemini",
    "groq",
    "lm_studio",
    "lmdeploy",
    "mistral",
    "ollama",
    "openrouter",
    "sglang",
    "tensorrt_llm",
    "tgi",
    "transformers_serve",
)
"""The folders, which are named after the plugins."""
REQUEST: Mapping[str, Any] = {"stop_sequences": ["END"]}
CUTS = ((17, 1001), (333,), (2, 3, 50, 51, 52, 900))


@attrs.frozen
class Answer:
    """What the client shall get; the token counts are the input's, the output's."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    stop: tuple[str, str | None] = ("end_turn", None)
    tokens: tuple[int, int] = (20, 9)


@attrs.frozen
class Failure:
    """The error that the client shall get; `status` is what a client that does not stream sees."""

    status: int
    type: str
    words: str


FOUR = Answer("It is 4.", "Two and two.")
PARIS = ("get_weather", {"city": "Paris"})
CALL = Answer(calls=(PARIS,), stop=("tool_use", None))
THOUGHT_CALL = attrs.evolve(CALL, thinking="I need the weather.")
STOPPED = Answer("1, 2, 3, ", "Two and two.", stop=("stop_sequence", "END"))
TWO = Answer(calls=(PARIS, ("get_time", {"city": "Oslo"})), stop=("tool_use", None))
BROKEN = Failure(502, "api_error", "")

ANSWERS = {
    "azure/chat.json": Answer("Hello."),
    "azure/filtered_stream.sse": Answer("First, so", stop=("refusal", None)),
    "deepseek/thinking_tools.json": THOUGHT_CALL,
    "deepseek/thinking_tools_stream.sse": THOUGHT_CALL,
    "gemini/chat_stream.sse": Answer("It is 4."),
    "gemini/signature.json": TWO,
    "gemini/signature_stream.sse": TWO,
    "groq/reasoning.json": FOUR,
    "groq/reasoning_stream.sse": FOUR,
    "lm_studio/thinking.json": FOUR,
    "lm_studio/thinking_stream.sse": FOUR,
    "lm_studio/tools_stream.sse": CALL,
    "lmdeploy/thinking.json": FOUR,
    "lmdeploy/thinking_stream.sse": FOUR,
    "mistral/parts.json": FOUR,
    "mistral/parts_stream.sse": FOUR,
    "mistral/tools_stream.sse": CALL,
    "ollama/thinking.json": FOUR,
    "ollama/thinking_stream.sse": FOUR,
    "ollama/tools_stream.sse": CALL,
    "openrouter/details.json": FOUR,
    "openrouter/details_stream.sse": FOUR,
    "sglang/end.json": Answer("Done."),
    "sglang/stop.json": STOPPED,
    "sglang/stop_stream.sse": STOPPED,
    "tensorrt_llm/end.json": Answer("Done."),
    "tensorrt_llm/named_stream.sse": CALL,
    "tensorrt_llm/stop.json": STOPPED,
    "tensorrt_llm/stop_stream.sse": STOPPED,
    "tgi/end_stream.sse": Answer("1, 2, 3."),
    "tgi/stop.json": attrs.evolve(STOPPED, thinking=""),
    "tgi/stop_stream.sse": attrs.evolve(STOPPED, thinking=""),
    "tgi/tools.json": CALL,
    "tgi/tools_stream.sse": CALL,
    "transformers_serve/described.json": FOUR,
    "transformers_serve/described_stream.sse": FOUR,
    "transformers_serve/described_tools_stream.sse": CALL,
}

FAILURES = {
    "azure/prompt_filtered.400.json": Failure(400, "invalid_request_error", "content management policy"),
    "azure/wrong_key.401.json": Failure(502, "api_error", "the gateway's credentials: Access denied"),
    "deepseek/no_reasoning.400.json": Failure(400, "invalid_request_error", "must be passed back"),
    "deepseek/no_resource_stream.sse": attrs.evolve(BROKEN, words="insufficient_system_resource"),
    "gemini/busy.503.json": Failure(529, "overloaded_error", "The model is overloaded"),
    "gemini/no_signature.400.json": Failure(400, "invalid_request_error", "missing a thought_signature"),
    "groq/full.498.json": Failure(529, "overloaded_error", "capacity exceeded"),
    "groq/tool_use_failed.400.json": Failure(502, "api_error", "Failed to call a function"),
    "lm_studio/tool_choice.400.json": Failure(400, "invalid_request_error", "Invalid tool_choice type"),
    "lmdeploy/broken_stream.sse": Failure(500, "api_error", "internal error happened"),
    "lmdeploy/too_long.400.json": Failure(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192"),
    "mistral/order.400.json": Failure(400, "invalid_request_error", "Unexpected role 'user' after role 'tool'"),
    "mistral/unknown_field.422.json": Failure(400, "invalid_request_error", "top_k: Extra inputs are not permitted"),
    "mistral/wrong_key.401.json": Failure(502, "api_error", "the gateway's credentials: Unauthorized"),
    "ollama/busy.503.json": Failure(529, "overloaded_error", "maximum pending requests exceeded"),
    "ollama/dropped_stream.sse": BROKEN,
    "ollama/no_thinking.400.json": Failure(400, "invalid_request_error", "does not support thinking"),
    "openrouter/broken_stream.sse": attrs.evolve(BROKEN, words="Provider returned error"),
    "openrouter/error_200.json": Failure(429, "rate_limit_error", "free-models-per-min"),
    "openrouter/no_credit.402.json": Failure(402, "billing_error", "Insufficient credits"),
    "sglang/broken_stream.sse": Failure(500, "api_error", "The request was aborted"),
    "sglang/full.503.json": Failure(529, "overloaded_error", "The request queue is full."),
    "sglang/too_long.400.json": Failure(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192"),
    "tensorrt_llm/dropped_stream.sse": BROKEN,
    "tensorrt_llm/too_long.400.json": Failure(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192"),
    "tensorrt_llm/unknown_field.400.json": Failure(400, "invalid_request_error", "extra_forbidden"),
    "tgi/bad_json.422.txt": Failure(400, "invalid_request_error", "Failed to deserialize"),
    "tgi/broken_stream.sse": Failure(400, "invalid_request_error", "out of memory"),
    "tgi/overloaded.429.json": Failure(429, "rate_limit_error", "Model is overloaded"),
    "tgi/too_long.422.json": Failure(400, "invalid_request_error", ""),
    "transformers_serve/described_broken_stream.sse": attrs.evolve(BROKEN, words="CUDA out of memory"),
}


@pytest.fixture(scope="module")
def assemblies() -> dict[str, Assembly]:
    return {plugin: Assembly([plugin]) for plugin in ENGINES}


def play(name: str, assemblies: Mapping[str, Assembly]) -> dict[Mode, Reply]:
    word = name.split(".")[1]
    status = int(word) if word.isdigit() else 200
    body = (WIRE / name).read_bytes()
    return assert_split_invariant(assemblies[name.partition("/")[0]], body, request=REQUEST, cuts=CUTS, status=status)


def test_every_file_has_its_expectation() -> None:
    files = {f"{path.parent.name}/{path.name}" for engine in ENGINES for path in (WIRE / engine).iterdir()}
    described = {name for name in files if "transformers_serve/chat_" not in name}
    assert described == ANSWERS.keys() | FAILURES.keys()


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_client_gets(name: str, assemblies: dict[str, Assembly]) -> None:
    for mode, reply in play(name, assemblies).items():
        message = reply.message
        got = Answer(
            joined(message, "text"),
            joined(message, "thinking"),
            tuple((block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"),
            (message["stop_reason"], message["stop_sequence"]),
            (message["usage"]["input_tokens"], message["usage"]["output_tokens"]),
        )
        assert got == ANSWERS[name], mode


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails(name: str, assemblies: dict[str, Assembly]) -> None:
    wanted = FAILURES[name]
    for mode, reply in play(name, assemblies).items():
        assert reply.error is not None, mode
        assert reply.error["type"] == wanted.type, mode
        assert wanted.words in reply.error["message"], mode
        assert reply.status in ({200, wanted.status} if mode.client else {wanted.status}), mode
        assert reply.message.get("stop_reason") is None, mode


SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}
DETAIL = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "text": "Two and two."}
BACK: dict[str, tuple[str, Any]] = {
    "deepseek/thinking_tools_stream.sse": ("reasoning_content", "I need the weather."),
    "gemini/signature.json": ("extra_content", [SIGNED, None]),
    "gemini/signature_stream.sse": ("extra_content", [SIGNED, None]),
    "groq/reasoning.json": ("reasoning", None),
    "lmdeploy/thinking.json": ("reasoning_content", "Two and two."),
    "mistral/parts.json": (
        "content",
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Two and two."}]},
            {"type": "text", "text": "It is 4."},
        ],
    ),
    "ollama/thinking.json": ("reasoning", "Two and two."),
    "openrouter/details.json": ("reasoning_details", [{**DETAIL, "signature": "c2lnbmVk"}]),
    "openrouter/details_stream.sse": ("reasoning_details", [{**DETAIL, "signature": "c2lnbmVk"}]),
    "sglang/stop.json": ("reasoning_content", "Two and two."),
    "tensorrt_llm/stop.json": ("reasoning_content", "Two and two."),
    "transformers_serve/described.json": ("reasoning_content", None),
}


@pytest.mark.parametrize("name", BACK)
def test_what_comes_back_to_the_engine_with_the_turn(name: str) -> None:
    plugin, data = name.partition("/")[0], (WIRE / name).read_bytes()
    answer = replay([plugin], [data]).message["content"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
        for block in answer
        if block["type"] == "tool_use"
    ]
    turns = [("user", "Hi"), ("assistant", answer), ("user", results or "Go on.")]
    messages = [{"role": role, "content": content} for role, content in turns]
    turn = replay([plugin], [data], request={"messages": messages}).sent["messages"][1]
    field, wanted = BACK[name]
    calls = turn.get("tool_calls") if field == "extra_content" else None
    assert ([call.get(field) for call in calls] if calls else turn.get(field)) == wanted


def joined(message: Any, kind: str) -> str:
    return "".join(block[kind] for block in message["content"] if block["type"] == kind)
