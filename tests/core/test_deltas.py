from __future__ import annotations

import attrs
import pytest

from core.deltas import Model, Stop, Text, Thinking, ToolUse, Usage


@pytest.mark.parametrize("delta", [Thinking("a"), Text("a"), ToolUse(0, "{}", "i", "n"), Usage(1, 2), Stop("end_turn")])
def test_deltas_are_values(delta: object) -> None:
    assert delta == attrs.evolve(delta)  # type: ignore[misc]
    assert hash(delta) == hash(attrs.evolve(delta))  # type: ignore[misc]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        delta.text = "b"  # type: ignore[attr-defined]


def test_defaults() -> None:
    assert ToolUse(1, "x") == ToolUse(1, "x", "", "")
    assert Stop("tool_use").sequence is None
    assert Usage() == Usage(0, 0, 0, 0)
    assert Model("m").created == 0
