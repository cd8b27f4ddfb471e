"""Good answers and good requests, spoilt at random; a seed makes the same ones again."""

from __future__ import annotations

import json
import random
from typing import Final

from tests.faults.fault import CHUNKED, DONE, FINISH, SAY, SSE, chunk, completion, event, framed, reply
from tests.faults.script import Script, close, reset

ANSWERS: Final = 150
REQUESTS: Final = 150

_CALL: Final = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
_USAGE: Final = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
_STREAM: Final = chunk(reasoning_content="Hm") + SAY + chunk(tool_calls=[_CALL]) + FINISH + _USAGE + DONE
_WHOLE: Final = reply(200, completion())[0]
_GOOD: Final = (
    SSE + _STREAM,
    CHUNKED + framed(_STREAM) + b"0\r\n\r\n",
    CHUNKED + b"".join(map(framed, _STREAM.splitlines(keepends=True))) + b"0\r\n\r\n",
    _WHOLE if isinstance(_WHOLE, bytes) else b"",
)
_REQUEST: Final = {
    "model": "up.good",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Grüße"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, None]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1", "is_error": True}]},
    ],
    "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "array"}}}}],
    "tool_choice": {"type": "auto"},
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "metadata": {"user_id": "u"},
}
_WORDS: Final = (
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"-1",
    b"1e999",
    b"true",
    b"\r\n",
    b"\n\n",
    b"data:",
    b"\0",
    b"\xff",
    b"0",
)


def answers() -> dict[str, Script]:
    """Spoilt answers by the models that ask for them."""
    made: dict[str, Script] = {}
    for seed in range(ANSWERS):
        chance = random.Random(seed)
        data = spoilt(chance.choice(_GOOD), chance)
        cut = chance.randrange(len(data) + 1)
        made[f"quick.fuzz {seed}"] = (data[:cut], data[cut:], chance.choice((close, close, reset)))
    return made


def request(seed: int) -> bytes:
    """A spoilt request."""
    return spoilt(json.dumps(_REQUEST, ensure_ascii=False).encode(), random.Random(seed))


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """The same with up to three faults."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 4, 40)))
        put = chance.choice((b"", b"", bytes((chance.randrange(256),)), chance.choice(_WORDS), data[at:end] * 2))
        data = data[:at] + put + data[end:]
    return data
