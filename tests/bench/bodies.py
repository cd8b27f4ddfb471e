"""The requests: Messages API bodies of the sizes that clients send, the same bytes in every run.

The model's name tells the scripted upstream what to answer (`answers.py`).
"""

from __future__ import annotations

import random
from typing import Any, Final

import orjson

_WORDS: Final = ("the", "return", "value", "of", "parse", "self.path", "is", "not", "None", "with", "größe", "→", "def")
STOP: Final = "\n\nHuman:"
"""Every stream asks for one stop sequence, that no answer has: what looks for it must look all the way."""


def small(model: str = "small") -> bytes:
    """One question."""
    return _body(model, [_turn("user", "Why is the sky blue?")])


def streamed(model: str) -> bytes:
    """One question whose answer streams."""
    return _body(model, [_turn("user", "Tell me a story.")], stream=True, stop_sequences=[STOP])


def large(size: int, model: str = "small") -> bytes:
    """One question under a text of about `size` bytes."""
    text = prose(random.Random(1), 20_000)
    return _body(model, [_turn("user", text * max(1, size // len(orjson.dumps(text))) + "What is this?")])


def agent(model: str = "small", turns: int = 150, tools: int = 40) -> bytes:
    """A coding agent's request late in a session: about 380 kB with 150 messages and 40 tools.

    The messages are two of the user, then calls and results of tools in turn; the last one is a result.
    """
    chance = random.Random(2)
    messages = [_turn("user", prose(chance, 1500)), _turn("user", prose(chance, 300))]
    for number in range(2, turns, 2):
        messages += [_calls(chance, number), _results(chance, number + 1)]
    return _body(
        model,
        messages,
        system=[{"type": "text", "text": prose(chance, 9000), "cache_control": {"type": "ephemeral"}}],
        tools=[_tool(chance, number) for number in range(tools)],
    )


def prose(chance: random.Random, size: int) -> str:
    """Text of `size` characters with what JSON must escape: line ends, quotes, tabs, backslashes."""
    parts: list[str] = []
    length = 0
    while length < size:
        line = "\t" + " ".join(chance.choices(_WORDS, k=14)) + f' "{chance.randrange(999)}" \\n\n'
        parts.append(line)
        length += len(line)
    return "".join(parts)[:size]


def _body(model: str, messages: list[dict[str, Any]], **rest: Any) -> bytes:
    return orjson.dumps({"model": model, "max_tokens": 1024, "messages": messages, **rest})


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _calls(chance: random.Random, number: int) -> dict[str, Any]:
    call = {
        "type": "tool_use",
        "id": f"toolu_{number:024}",
        "name": f"tool_{number % 8}",
        "input": {"path": f"/src/module_{number}.py", "pattern": prose(chance, 300), "limit": number},
    }
    return {"role": "assistant", "content": [{"type": "text", "text": prose(chance, 500)}, call]}


def _results(chance: random.Random, number: int) -> dict[str, Any]:
    content = [{"type": "text", "text": prose(chance, 2250)}]
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1:024}", "content": content}
    return {"role": "user", "content": [result]}


def _tool(chance: random.Random, number: int) -> dict[str, Any]:
    fields = {
        f"field_{each}": {"type": ("string", "integer", "boolean")[each % 3], "description": prose(chance, 90)}
        for each in range(8)
    }
    schema = {"type": "object", "properties": fields, "required": ["field_0"], "additionalProperties": False}
    return {"name": f"tool_{number}", "description": prose(chance, 1200), "input_schema": schema}
