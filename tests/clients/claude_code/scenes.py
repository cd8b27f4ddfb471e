"""The upstream's part in Claude Code's runs, in the shapes of three dialects, and what must not reach an upstream."""

from __future__ import annotations

import json
from typing import Any

import attrs

from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall


@attrs.frozen
class Dialect:
    """How an engine writes its answers: the field of its reasoning, its calls' ids, its chunks, its framing."""

    reasoning: str
    call_id: str
    shape: ChunkShape
    framing: Framing = attrs.field(factory=Framing)

    def answer(self, text: str | None, *, reasoning: str | None = None, **tools: dict[str, Any]) -> UpstreamAnswer:
        """One answer; each keyword is a tool to call with its input."""
        calls = [
            UpstreamToolCall(name, json.dumps(value), self.call_id.format(name.lower()))
            for name, value in tools.items()
        ]
        return UpstreamAnswer(
            text=text,
            reasoning=reasoning,
            reasoning_fields=(self.reasoning,),
            tool_calls=tuple(calls),
            finish_reason="tool_calls" if calls else "stop",
            shape=self.shape,
            framing=self.framing,
        )


DIALECTS = {
    "vllm": Dialect("reasoning", "chatcmpl-tool-{}", ChunkShape(interleaved=True)),
    "ollama": Dialect("reasoning", "call_{}", ChunkShape(piece=0, shared=True)),
    "deepseek": Dialect(
        "reasoning_content", "call_00_{}", ChunkShape(nulls=True, role="null"), Framing(comment="keep-alive")
    ),
}

UNWANTED = ("x-anthropic-billing-header", "cache_control", "DeferredToolPlaceholder", "client-secret", "device_id")
"""What Claude Code sends to the gateway and no upstream may see."""


def check_request(body: dict[str, Any], headers: Any) -> None:
    """A request of Claude Code's as every upstream must get it."""
    whole = json.dumps(body)
    assert [word for word in UNWANTED if word in whole] == []
    assert "client-secret" not in str(headers)
    roles = [message["role"] for message in body["messages"]]
    assert roles[:2] == ["system", "user"]
    assert "system" not in roles[1:], "most templates refuse a later system turn"
    assert "# Environment" in body["messages"][1]["content"], "the system turn is folded into the user's"
    assert {"Bash", "Read", "Write"} <= {tool["function"]["name"] for tool in body["tools"]}
    assert all(isinstance(message["content"], str | None) for message in body["messages"])
