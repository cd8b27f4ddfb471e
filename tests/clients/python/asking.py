"""What the tests ask, and which SDK they ask it with."""

from __future__ import annotations

from typing import Any, Literal

import anthropic
from anthropic.types import Message, MessageParam

MAJOR = int(anthropic.__version__.split(".")[0])
"""The SDK's major version."""

Mode = Literal["whole", "stream"]
QUESTION: MessageParam = {"role": "user", "content": "What is it?"}


def ask(client: anthropic.Anthropic, mode: Mode, model: str, **fields: Any) -> Message:
    """One answer, in either mode; a stream is folded by the SDK."""
    asked: dict[str, Any] = {"model": model, "max_tokens": 400, "messages": [QUESTION], **fields}
    if mode == "whole":
        return client.messages.create(**asked)  # type: ignore[no-any-return]
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def parts(message: Any) -> list[tuple[str, Any]]:
    """Type and substance of each block: its text, its thinking, or a call's input."""
    shown = {"thinking": "thinking", "text": "text", "tool_use": "input"}
    return [(block.type, getattr(block, shown[block.type])) for block in message.content]
