from __future__ import annotations

from typing import Any

import pytest
from cattrs.errors import BaseValidationError

from core import OtherTool, Tool, ToolChoice
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.structure import new_converter
from plugins.anthropic.tools import choice_hook, tool_hook

SCHEMA = {"type": "object", "properties": {"type": {"type": "string"}}}


@pytest.mark.parametrize("kind", [{}, {"type": None}, {"type": "custom"}])
def test_a_clients_own_tool(kind: dict[str, Any]) -> None:
    value = {"name": "f", "input_schema": SCHEMA, "description": None, "cache_control": {"type": "ephemeral"}, **kind}
    assert tool_hook(new_converter())(value, None) == Tool("f", SCHEMA)


def test_all_that_a_tool_may_say() -> None:
    value = {"name": "f", "input_schema": {}, "description": "d", "strict": True, "defer_loading": True}
    assert tool_hook(new_converter())(value, None) == Tool("f", {}, "d", strict=True, defer_loading=True)


@pytest.mark.parametrize("name", ["", "web_search"])
def test_a_tool_known_by_its_type_is_kept_whole(name: str) -> None:
    value = {"type": "web_search_20260318", **({"name": name} if name else {}), "x": 1}
    assert tool_hook(new_converter())(value, None) == OtherTool("web_search_20260318", name, value)


def test_one_that_the_client_runs_gets_its_schema() -> None:
    tool = tool_hook(new_converter())({"type": "bash_20250124", "name": "bash", "defer_loading": True}, None)
    assert isinstance(tool, Tool)
    assert (tool.name, tool.defer_loading, tool.input_schema["type"]) == ("bash", True, "object")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("f", "Input should be an object"),
        ({"name": "f"}, "custom.input_schema: Field required"),
        ({"input_schema": {}}, "custom.name: Field required"),
        ({"name": "f", "input_schema": []}, "custom.input_schema: Input should be an object"),
        ({"type": 1}, "type: Input should be a valid string"),
        ({"type": "bash_20250124", "name": 1}, "bash_20250124.name: Input should be a valid string"),
    ],
)
def test_faulty_tools(value: Any, fault: str) -> None:
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        tool_hook(new_converter())(value, None)
    assert explain(caught.value) == fault


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        ({"type": "auto"}, ToolChoice("auto")),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice("any", parallel=False)),
        ({"type": "tool", "name": "f", "disable_parallel_tool_use": None}, ToolChoice("tool", "f")),
        ({"type": "none"}, ToolChoice("none")),
    ],
)
def test_choices(value: Any, choice: ToolChoice) -> None:
    assert choice_hook(new_converter())(value, None) == choice


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("auto", "Input should be an object"),
        ({"type": "tool"}, "tool.name: Field required"),
        (
            {"type": "auto", "disable_parallel_tool_use": 1},
            "auto.disable_parallel_tool_use: Input should be a valid boolean",
        ),
    ],
)
def test_faulty_choices(value: Any, fault: str) -> None:
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        choice_hook(new_converter())(value, None)
    assert explain(caught.value) == fault
