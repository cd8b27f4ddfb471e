"""What an engine wants back with a turn: the same from a stream and from a whole message, and given back as it came."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from core.testing import Assembly, Framing, Reply
from core.testing.replay import replayer

DETAILS: Sequence[Mapping[str, Any]] = (
    {"type": "reasoning.text", "text": "Two and two. 😀", "format": "f-v1", "index": 0, "signature": "sig"},
    {"type": "reasoning.summary", "summary": "Adding.", "format": "f-v1", "index": 1},
    {"type": "reasoning.encrypted", "data": "x7+/==", "id": "rs_1", "format": "f-v1", "index": 1},
)
SIGNED = {"google": {"thought_signature": "sig-a"}}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


def pieces(size: int) -> list[dict[str, Any]]:
    """The deltas of a stream with these details: texts in pieces of that size, the signature at the end."""
    deltas: list[dict[str, Any]] = []
    for detail in DETAILS:
        field = next(name for name in ("text", "summary", "data") if name in detail)
        frame = {**detail, "signature": None} if "signature" in detail else detail
        parts = [{**frame, field: detail[field][at : at + size]} for at in range(0, len(detail[field]), size)]
        if "signature" in detail:
            parts.append({key: value for key, value in detail.items() if key != field})
        for part in parts:
            deltas.append({"reasoning_details": [part]})
            if field != "data":
                deltas[-1]["reasoning"] = part.get(field)
    return deltas


def call(*, signed: bool) -> dict[str, Any]:
    extra = {"extra_content": SIGNED} if signed else {}
    return {"index": 0, "id": "call_a", "function": {"name": "f", "arguments": "{}"}, **extra}


def sse(deltas: Sequence[Any]) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    return Framing().stream(
        [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}]
    )


def body(message: Mapping[str, Any]) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()


def play(plugin: str, wires: Sequence[bytes]) -> tuple[list[Reply], Any]:
    """The replies, streamed and not, of each wire; and the messages that follow when the last is sent back."""

    async def run() -> tuple[list[Reply], Any]:
        async with replayer(Assembly([plugin])) as player:
            replies = [
                await player.play([wire], stream=stream, request={"tools": TOOLS})
                for wire in wires
                for stream in (True, False)
            ]
            content = replies[-1].message["content"]
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
                for block in content
                if block["type"] == "tool_use"
            ]
            history = [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": content},
                {"role": "user", "content": results or "Go on."},
            ]
            again = await player.play([body({"content": "ok"})], request={"messages": history, "tools": TOOLS})
            return replies, again.sent["messages"]

    return anyio.run(run)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("follows", [{"content": "4."}, {"tool_calls": [call(signed=False)]}])
def test_reasoning_details_come_back_as_they_were(size: int, follows: dict[str, Any]) -> None:
    whole = {"reasoning": "Two and two. 😀Adding.", "reasoning_details": list(DETAILS), **follows}
    replies, messages = play("openrouter", [sse([*pieces(size), follows]), body(whole)])
    contents = [reply.message["content"] for reply in replies]
    assert contents[1:] == contents[:-1]
    assert [block["type"] for block in contents[0]] == ["thinking", "text" if "content" in follows else "tool_use"]
    assert contents[0][0]["thinking"] == whole["reasoning"]
    assert messages[1]["reasoning_details"] == list(DETAILS)


@pytest.mark.parametrize("text", ["", "Let me see."])
def test_a_call_s_fields_come_back_with_it(text: str) -> None:
    deltas: list[Any] = [{"content": text}, {"tool_calls": [call(signed=True)]}]
    whole = {"content": text, "tool_calls": [call(signed=True)]}
    replies, messages = play("gemini", [sse(deltas), body(whole)])
    contents = [reply.message["content"] for reply in replies]
    assert contents[1:] == contents[:-1]
    (sent,) = messages[1]["tool_calls"]
    assert (sent["id"], sent["extra_content"]) == ("call_a", SIGNED)
