"""A last turn of the model's own, which its answer shall continue."""

from __future__ import annotations

from typing import Any, Final

import attrs

from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import Block, Request, TextBlock, ThinkingBlock, ToolUseBlock

_REFUSED: Final = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)


@attrs.frozen
class Prefill:
    """What the answer shall continue: the text of the last turn, and its reasoning."""

    text: str = ""
    thinking: str = ""


def prefill_of(request: Request) -> Prefill:
    """The prefill of a request; empty where the last turn is not the model's, or ends with a call."""
    said: list[Block] = []
    for turn in reversed(request.messages):
        if turn.role == "assistant":
            said += reversed(turn.content)
        elif turn.content:
            break
    if any(isinstance(block, ToolUseBlock) for block in said):
        return Prefill()
    said.reverse()
    return Prefill(
        "".join(block.text for block in said if isinstance(block, TextBlock)),
        "".join(block.thinking for block in said if isinstance(block, ThinkingBlock)),
    )


def continued(messages: list[dict[str, Any]], request: Request, dialect: Dialect) -> dict[str, Any]:
    """The body's fields that make the engine continue the last message, if that is the model's; marks it if need be.

    Raises RequestError, in the API's own words, where the engine cannot; a count of tokens is never refused.
    """
    last = messages[-1] if messages else {}
    if last.get("role") != "assistant" or "tool_calls" in last:
        return {}
    match dialect.prefill:
        case "continue":
            return {"add_generation_prompt": False, "continue_final_message": True}
        case "prefix":
            last["prefix"] = True
        case "refuse" if request.task == "message":
            raise RequestError(_REFUSED)
    return {}
