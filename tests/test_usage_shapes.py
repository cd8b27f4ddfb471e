"""Token counts, wherever in an answer engines put them: chunks in, and what the client is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from core.testing import Assembly, Framing, assert_split_invariant

CUTS: Sequence[Sequence[int]] = ((3, 40, 41, 170), (200,))
COUNTS = {"prompt_tokens": 11, "completion_tokens": 7}
NONE_YET = {"prompt_tokens": 11, "completion_tokens": 0}
ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
SAY, END = {"index": 0, "delta": {"content": "abcd"}}, {"index": 0, "delta": {}, "finish_reason": "stop"}
ROLE = {"index": 0, "delta": {"role": "assistant", "content": ""}}
OTHER = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
USAGES: dict[str, list[dict[str, Any]]] = {
    "apart": [{"choices": [SAY]}, {"choices": [END]}, {"choices": [], "usage": COUNTS}],
    "apart, without choices": [{"choices": [SAY]}, {"choices": [END]}, {"usage": COUNTS}],
    "with the end": [{"choices": [SAY]}, {"choices": [END], "usage": COUNTS}],
    "with the end, then null": [
        {"choices": [SAY]},
        {"choices": [END], "usage": COUNTS},
        {"choices": [], "usage": None},
    ],
    "before the end": [{"choices": [SAY], "usage": COUNTS}, {"choices": [END], "usage": None}],
    "on every chunk": [
        {"choices": [ROLE], "usage": NONE_YET},
        {"choices": [SAY], "usage": {"prompt_tokens": 11, "completion_tokens": 3}},
        {"choices": [END], "usage": COUNTS},
    ],
    "on the chunk with the role alone": [{"choices": [ROLE], "usage": COUNTS}, {"choices": [SAY]}, {"choices": [END]}],
    "zeros around it": [
        {"choices": [SAY], "usage": ZEROS},
        {"choices": [END], "usage": COUNTS},
        {"choices": [], "usage": ZEROS},
    ],
    "in x_groq": [
        {"choices": [SAY], "x_groq": {"id": "req"}},
        {"choices": [END], "x_groq": {"id": "req", "usage": COUNTS}},
    ],
    "with another choice": [
        {"choices": [OTHER, SAY]},
        {"choices": [OTHER]},
        {"choices": [OTHER, END], "usage": COUNTS},
    ],
}


@pytest.fixture(scope="module")
def assembly() -> Assembly:
    return Assembly(["openai"])


@pytest.mark.parametrize("name", USAGES)
def test_usage_wherever_it_comes(name: str, assembly: Assembly) -> None:
    wire = Framing().stream(USAGES[name])
    for reply in assert_split_invariant(assembly, wire, cuts=CUTS).values():
        assert reply.message["usage"] == {"input_tokens": 11, "output_tokens": 7}
        assert reply.message["content"] == [{"type": "text", "text": "abcd"}]
        assert reply.message["stop_reason"] == "end_turn"


def test_usage_that_never_comes_is_estimated(assembly: Assembly) -> None:
    wire = Framing().stream([{"choices": [SAY]}, {"choices": [END]}])
    for reply in assert_split_invariant(assembly, wire, cuts=CUTS).values():
        assert reply.message["usage"]["input_tokens"] > 0
        assert reply.message["usage"]["output_tokens"] == 1
