"""The demo engine's answer in the OpenAI shape: one completion, or the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from plugins.demo import tokens
from plugins.demo.ask import Ask
from plugins.demo.tools import ToolCall

CREATED = 1_767_225_600
"""The time in every answer (Unix seconds): a clock would make two answers differ."""
PIECE = 3
"""How many tokens a chunk carries."""


@attrs.frozen
class Answer:
    """What was generated. `spent` counts all its tokens, `reasoned` those of the reasoning."""

    digest: str
    reasoning: str
    content: str
    calls: tuple[ToolCall, ...]
    finish_reason: str
    stop: str | None
    spent: int
    reasoned: int


def completion(ask: Ask, answer: Answer) -> dict[str, Any]:
    """The whole answer."""
    calls = [_call(answer, number) for number in range(len(answer.calls))]
    message: dict[str, Any] = {"role": "assistant", "content": None if calls and not answer.content else answer.content}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if calls:
        message["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": answer.finish_reason,
        "stop_reason": answer.stop,
    }
    frame = _frame(ask, answer, "chat.completion", [choice])
    return frame | {"usage": usage(ask.prompt_tokens, answer.spent, answer.reasoned)}


def chunks(ask: Ask, answer: Answer) -> list[dict[str, Any]]:
    """The answer piece by piece: role, reasoning, text, tool calls, finish, and the usage if it was asked for."""
    choices = [_choice(delta) for delta in _deltas(answer)]
    choices.append(_choice({}) | {"finish_reason": answer.finish_reason, "stop_reason": answer.stop})
    made = [_frame(ask, answer, "chat.completion.chunk", [choice]) for choice in choices]
    if ask.include_usage:
        counts = usage(ask.prompt_tokens, answer.spent, answer.reasoned)
        made.append(_frame(ask, answer, "chat.completion.chunk", []) | {"usage": counts})
    return made


def usage(prompt: int, spent: int, reasoned: int) -> dict[str, Any]:
    """Token counts; `completion_tokens` includes the reasoning."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": spent,
        "total_tokens": prompt + spent,
        "completion_tokens_details": {"reasoning_tokens": reasoned},
    }


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(answer.reasoning):
        yield {"reasoning_content": piece}
    for piece in _pieces(answer.content):
        yield {"content": piece}
    for number, call in enumerate(answer.calls):
        whole = _call(answer, number)
        yield {"tool_calls": [{"index": number} | whole | {"function": {"name": call.name, "arguments": ""}}]}
        for piece in _pieces(call.arguments):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    parts = tokens.split(text)
    for start in range(0, len(parts), PIECE):
        yield "".join(parts[start : start + PIECE])


def _call(answer: Answer, number: int) -> dict[str, Any]:
    call = answer.calls[number]
    return {
        "id": f"call_{answer.digest}{number}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _choice(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}


def _frame(ask: Ask, answer: Answer, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.digest}",
        "object": kind,
        "created": CREATED,
        "model": ask.model,
        "choices": choices,
    }
