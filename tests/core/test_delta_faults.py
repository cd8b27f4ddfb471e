from __future__ import annotations

from typing import Any

import pytest

from core.delta_faults import fault_of
from core.deltas import Model, State, Stop, Text, Thinking, ToolUse, Usage


@pytest.mark.parametrize(
    "delta",
    [Text("a"), Thinking("b"), ToolUse(0, "{}", "i", "n"), Usage(1, 2), Stop("end_turn"), State(), Model("m")],
)
def test_a_sound_delta_has_none(delta: Any) -> None:
    assert fault_of(delta) == ""


WRONG: Any = [
    Text(None),  # type: ignore[arg-type]
    Thinking(b"x"),  # type: ignore[arg-type]
    ToolUse("a"),  # type: ignore[arg-type]
    ToolUse(0, None),  # type: ignore[arg-type]
    Usage(None),  # type: ignore[arg-type]
    Usage(1, "2"),  # type: ignore[arg-type]
    Stop("weird"),  # type: ignore[arg-type]
    Stop(["end_turn"]),  # type: ignore[arg-type]
    Stop("stop_sequence", 5),  # type: ignore[arg-type]
    State([]),  # type: ignore[arg-type]
    Model(5),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("delta", WRONG)
def test_a_field_of_another_type_is_told(delta: Any) -> None:
    assert fault_of(delta) == f"{type(delta).__name__} with a field of another type than its own"


@pytest.mark.parametrize("value", [None, 5, Text, {}])
def test_what_is_no_delta_is_told(value: Any) -> None:
    assert fault_of(value) == f"{type(value).__name__}, which is no delta"
