"""Content blocks of the model's own earlier turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.mapping.wire import BACKENDS, HI, F, Wire

GO = {"role": "user", "content": "Go"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "EpQBCkYIBxgC"}
REASONING = dict.fromkeys(("vllm", "ollama", "openrouter"), "reasoning") | dict.fromkeys(
    ("sglang", "llama_cpp", "lm_studio", "lmdeploy", "tensorrt_llm", "deepseek"), "reasoning_content"
)
"""The field of the message that earlier reasoning goes back in."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(identity: str = "c1", name: str = "f", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def turn(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": "r"} for i in ids]}


def spoken(wire: Wire, *blocks: dict[str, Any], backend: str = "openai") -> dict[str, Any]:
    """The upstream's message for one turn without calls."""
    first, message, last = wire.messages(HI, turn(*blocks), GO, backend=backend)
    assert (first, last) == (HI, GO)
    return message


def called(wire: Wire, *blocks: dict[str, Any], backend: str = "openai") -> list[dict[str, Any]]:
    """The upstream's messages for one turn with calls and their results."""
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return wire.messages(HI, turn(*blocks), result(*ids), backend=backend, tools=[F])[1:]


def test_text(wire: Wire) -> None:
    assert spoken(wire, text("One, "), text("two.")) == {"role": "assistant", "content": "One, two."}


@pytest.mark.parametrize("backend", BACKENDS)
def test_tool_use(wire: Wire, backend: str) -> None:
    message, _ = called(wire, text("Look."), use("callabcd1", x=1), backend=backend)
    assert message["content"] == (None if backend == "tgi" else "Look.")
    (call,) = message["tool_calls"]
    call.pop("extra_content", None)
    function = {"name": "f", "arguments": '{"x":1}'}
    assert call == {"id": "callabcd1", "type": "function", "function": function}
    alone, _ = called(wire, use("callabcd1"), backend=backend)
    assert (alone["content"], alone["tool_calls"][0]["function"]["arguments"]) == (None, "{}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_tool_ids(wire: Wire, backend: str) -> None:
    given = ("toolu_01AbC", "functions.f:0", "call_abc|x:1")
    message, *results = called(wire, *(use(i) for i in given), backend=backend)
    sent = [call["id"] for call in message["tool_calls"]]
    assert [each["tool_call_id"] for each in results] == sent
    if backend == "mistral":
        assert len(set(sent)) == 3
        assert all(len(i) == 9 and i.isalnum() and i.isascii() for i in sent)
        assert sent == [call["id"] for call in called(wire, *(use(i) for i in given), backend=backend)[0]["tool_calls"]]
    else:
        assert sent == list(given)


@pytest.mark.parametrize("backend", BACKENDS)
def test_thinking(wire: Wire, backend: str) -> None:
    plain = {"role": "assistant", "content": "A"}
    if backend in REASONING:
        plain[REASONING[backend]] = "hm"
    if backend == "mistral":
        parts: Any = [{"type": "thinking", "thinking": [text("hm")]}, text("A")]
        plain["content"] = parts
    assert spoken(wire, THOUGHT, text("A"), backend=backend) == plain
    tags = wire.messages(HI, turn(THOUGHT, text("A")), GO, options={"dialect": {"reasoning_history": "think_tags"}})
    assert tags[1] == {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA"}


def test_reasoning_demanded_with_calls(wire: Wire) -> None:
    assert called(wire, use(), backend="deepseek")[0]["reasoning_content"] == ""
    assert called(wire, THOUGHT, use(), backend="deepseek")[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in spoken(wire, text("A"), backend="deepseek")
    assert "reasoning_content" not in called(wire, use(), backend="vllm")[0]


@pytest.mark.parametrize("display", ["summarized", "omitted"])
def test_thinking_of_ours_comes_back(wire: Wire, display: str) -> None:
    thinking = {"type": "adaptive", "display": display}
    message = wire.answer(UpstreamAnswer(text="A", reasoning="hm"), "sglang", thinking=thinking)
    assert message["content"][0]["thinking"] == ("hm" if display == "summarized" else "")
    assert spoken(wire, *message["content"], backend="sglang")["reasoning_content"] == "hm"


def test_state_of_the_engine_comes_back(wire: Wire) -> None:
    details = [{"type": "reasoning.encrypted", "data": "x==", "format": "f", "index": 0}]
    answer = UpstreamAnswer(text="A", reasoning="hm", reasoning_fields=("reasoning",)).completion()
    answer["choices"][0]["message"]["reasoning_details"] = details
    thinking = {"type": "adaptive", "display": "omitted"}
    message = wire.answer(json.dumps(answer).encode(), "openrouter", thinking=thinking)
    assert "x==" not in json.dumps(message)
    sent = spoken(wire, *message["content"], backend="openrouter")
    assert sent == {"role": "assistant", "content": "A", "reasoning": "hm", "reasoning_details": details}
    assert spoken(wire, *message["content"]) == {"role": "assistant", "content": "A"}


def test_state_of_a_call_comes_back(wire: Wire) -> None:
    signature = {"google": {"thought_signature": "abc"}}
    answer = UpstreamAnswer(text=None, tool_calls=(UpstreamToolCall("f"),), finish_reason="tool_calls").completion()
    answer["choices"][0]["message"]["tool_calls"][0]["extra_content"] = signature
    message = wire.answer(json.dumps(answer).encode(), "gemini", tools=[F])
    sent, _ = called(wire, *message["content"], backend="gemini")
    assert sent["tool_calls"][0]["extra_content"] == signature
    foreign, _ = called(wire, use(), backend="gemini")
    stand_in = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert foreign["tool_calls"][0]["extra_content"] == stand_in


def test_broken_signature(wire: Wire) -> None:
    for signature in ("", "EpQBCkYIBxgC", "hl1.broken", "hl1."):
        block = {"type": "thinking", "thinking": "hm", "signature": signature}
        assert spoken(wire, block, text("A"), backend="vllm")["reasoning"] == "hm"


def test_redacted_thinking(wire: Wire) -> None:
    block = {"type": "redacted_thinking", "data": "EpQBCkYIBxgC"}
    assert spoken(wire, block, text("A"), backend="vllm") == {"role": "assistant", "content": "A"}


def test_turn_of_thinking_alone(wire: Wire) -> None:
    merged = {"role": "user", "content": "Hi\n\nGo"}
    assert wire.messages(HI, turn(THOUGHT), GO, backend="vllm") == [merged]


@pytest.mark.parametrize(
    ("name", "kind", "content", "said"),
    [
        (
            "web_search",
            "web_search_tool_result",
            [{"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "x"}],
            "https://a.example\nA",
        ),
        (
            "bash_code_execution",
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_result", "stdout": "42", "stderr": "", "return_code": 0, "content": []},
            "42",
        ),
    ],
)
def test_server_tools(wire: Wire, name: str, kind: str, content: Any, said: str) -> None:
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"q": "a"}}
    found = {"type": kind, "tool_use_id": "srvtoolu_1", "content": content}
    message = spoken(wire, text("See: "), asked, found)
    assert message == {"role": "assistant", "content": f'See: [Result of {name} {{"q":"a"}}]\n{said}'}
    assert spoken(wire, text("See."), asked) == {"role": "assistant", "content": "See."}


def test_mcp(wire: Wire) -> None:
    asked = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "s", "input": {}}
    found = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [text("42")]}
    assert spoken(wire, asked, found) == {"role": "assistant", "content": "[Result of find]\n42"}


def test_compaction(wire: Wire) -> None:
    summary = {"type": "compaction", "content": "They greeted.", "encrypted_content": "x"}
    assert spoken(wire, summary) == {"role": "assistant", "content": "They greeted."}


def test_marks(wire: Wire) -> None:
    marks: list[dict[str, Any]] = [
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "mcp_tool_listing"},
    ]
    assert spoken(wire, *marks, text("A")) == {"role": "assistant", "content": "A"}


def test_document(wire: Wire) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Lorem"}
    assert spoken(wire, {"type": "document", "source": source, "title": "T"})["content"] == "T\n\nLorem"
    picture = {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}
    assert wire.refused(messages=[HI, turn(picture), GO]) == (
        "messages.1.content.0: this kind of block cannot be sent to this model in an assistant turn"
    )


def test_text_behind_a_call(wire: Wire) -> None:
    message, _ = called(wire, text("Look"), use(), text("ing."))
    assert (message["content"], len(message["tool_calls"])) == ("Looking.", 1)


def test_further_fields(wire: Wire) -> None:
    block = {**use(), "caller": {"type": "direct"}, "toolset_name": "t", "extra": 1}
    said = {**text("A"), "citations": None, "extra": 1}
    message, _ = called(wire, said, block)
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    assert message == {"role": "assistant", "content": "A", "tool_calls": [call]}
