"""Tools that the provider defines by their type and the client runs: their schemas, so that any model can call them.

What each one takes is public, and is described here in our own words. Sources: the official SDKs' types and helpers.
"""

from __future__ import annotations

import re
from typing import Any, Final

from core import Tool

TYPE: Final = re.compile(r"(bash|text_editor|memory)_(\d{8})")
_UNDO_UNTIL: Final = "20250124"
"""The last version of the editor with `undo_edit`, and with `new_str` as the text to insert."""

_STRING: Final = {"type": "string"}
_LINES: Final = {
    "type": "array",
    "items": {"type": "integer"},
    "minItems": 2,
    "maxItems": 2,
    "description": "For view of a file: first and last line to show, from 1; -1 as the last means the file's end.",
}


def client_tool(kind: str, name: str, *, defer_loading: bool = False) -> Tool | None:
    """The tool of that type, under `name` or else the name that its clients know; None when it is none of these."""
    found = TYPE.fullmatch(kind)
    if found is None:
        return None
    family, version = found.groups()
    if family == "bash":
        known, schema, description = "bash", _bash(), "Runs a command in a bash session that lasts, and returns output."
    elif family == "memory":
        known, schema = "memory", _memory()
        description = "Reads and changes the files under /memories, which are kept from one conversation to the next."
    else:
        old = version <= _UNDO_UNTIL
        known, schema = "str_replace_editor" if old else "str_replace_based_edit_tool", _editor(undo=old)
        description = "Shows, makes and edits text files; shows what is in a directory."
    return Tool(name or known, schema, description, defer_loading=defer_loading)


def _bash() -> dict[str, Any]:
    return _object(
        {
            "command": _told("The command to run; needed unless restart is true."),
            "restart": {"type": "boolean", "description": "True starts the session anew."},
        }
    )


def _editor(*, undo: bool) -> dict[str, Any]:
    commands = ["view", "create", "str_replace", "insert", *(["undo_edit"] if undo else [])]
    new = "For str_replace: the new text; without it the old text is removed."
    fields = {
        "command": {"type": "string", "enum": commands, "description": "What to do."},
        "path": _told("The file or directory, as an absolute path."),
        **_edits(new + (" For insert: the text to put in." if undo else "")),
    }
    if undo:
        del fields["insert_text"]
    return _object(fields, "command", "path")


def _memory() -> dict[str, Any]:
    commands = ["view", "create", "str_replace", "insert", "delete", "rename"]
    return _object(
        {
            "command": {"type": "string", "enum": commands, "description": "What to do."},
            "path": _told("The file or directory, beginning with /memories; for all commands but rename."),
            **_edits("For str_replace: the new text."),
            "old_path": _told("For rename: the path now."),
            "new_path": _told("For rename: the path to be."),
        },
        "command",
    )


def _edits(new: str) -> dict[str, Any]:
    return {
        "view_range": _LINES,
        "file_text": _told("For create: the whole content of the file."),
        "old_str": _told("For str_replace: the text to replace; it must be in the file exactly once."),
        "new_str": _told(new),
        "insert_line": {"type": "integer", "description": "For insert: the line to insert after; 0 is the beginning."},
        "insert_text": _told("For insert: the text to put in."),
    }


def _told(description: str) -> dict[str, Any]:
    return {**_STRING, "description": description}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}
