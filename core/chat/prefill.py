"""A last turn of the model's own, which its answer shall continue."""

from __future__ import annotations

from typing import Any, Final

from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import Request

_REFUSED: Final = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
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
