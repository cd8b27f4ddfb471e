from __future__ import annotations

import pytest

from core import Tool
from plugins.anthropic.client_tools import client_tool


def made(kind: str, name: str = "") -> Tool:
    tool = client_tool(kind, name)
    assert tool is not None
    return tool


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("bash_20241022", "bash", {"command", "restart"}),
        ("bash_20250124", "bash", {"command", "restart"}),
        ("text_editor_20250124", "str_replace_editor", {"command", "path", "old_str", "insert_line"}),
        ("text_editor_20250728", "str_replace_based_edit_tool", {"command", "path", "old_str", "insert_text"}),
        ("memory_20250818", "memory", {"command", "path", "old_path", "new_path", "insert_text"}),
        ("memory_20990101", "memory", {"command"}),
    ],
)
def test_each_has_its_name_and_fields(kind: str, name: str, fields: set[str]) -> None:
    tool = made(kind)
    assert tool.name == name
    assert tool.description
    assert fields <= set(tool.input_schema["properties"])
    assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"])


def test_the_clients_name_wins() -> None:
    assert made("bash_20250124", "shell").name == "shell"


def test_only_the_old_editor_can_undo() -> None:
    old, new = (made(f"text_editor_{date}").input_schema["properties"] for date in ("20250124", "20250429"))
    assert "undo_edit" in old["command"]["enum"]
    assert "undo_edit" not in new["command"]["enum"]
    assert ("insert_text" in old, "insert_text" in new) == (False, True)


def test_it_can_be_deferred() -> None:
    tool = client_tool("bash_20250124", "bash", defer_loading=True)
    assert tool is not None
    assert tool.defer_loading


@pytest.mark.parametrize(
    "kind", ["web_search_20260318", "code_execution_20260521", "computer_20250124", "bash", "bash_code_execution", ""]
)
def test_others_are_none(kind: str) -> None:
    assert client_tool(kind, "x") is None


def test_no_two_share_what_can_be_changed() -> None:
    made("bash_20250124").input_schema["properties"]["command"]["type"] = "broken"
    assert made("bash_20250124").input_schema["properties"]["command"]["type"] == "string"
