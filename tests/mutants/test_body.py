from __future__ import annotations

from typing import Any

import pytest

from core.testing import UpstreamAnswer
from tests.mutants import body, mutants_in
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "What is it?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I ask f.", "signature": ""},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}]},
]
FULL = {
    "system": "Be brief.",
    "messages": CALLED,
    "tools": [TOOL],
    "tool_choice": {"type": "any"},
    "stop_sequences": ["END"],
    "max_tokens": 4096,
    "temperature": 0.5,
    "top_k": 3,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
}
ASKED = Scene(UpstreamAnswer(), {**FULL, "temperature": 1})
EXTRA = Scene(backend={"extra_body": {"priority": 1}})
TABLE = Scene(backend={"dialect": {"max_tokens_field": "max_completion_tokens"}})
COUNT = Scene(b'{"count":5,"tokens":[]}', path="/v1/messages/count_tokens")
MANY = Scene(UpstreamAnswer(), {"stop_sequences": list("12345")})

WITNESSES: dict[str, Witness] = {
    **{name: witness("sent", ASKED) for name in mutants_in(body)},
    "SamplingNotSent": witness("sent", Scene(UpstreamAnswer(), {"temperature": 0.5, "top_k": 3})),
    "StopsCut": witness("status", MANY),
    "ExtraBodyIgnored": witness("sent", EXTRA),
    "DialectTableIgnored": witness("sent", TABLE),
    "StreamSettingIgnored": witness("sent", Scene(upstream_stream="never")),
    "CountsByGenerating": witness("sent", COUNT),
}


@pytest.mark.parametrize("name", mutants_in(body))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(body)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(body).keys()
