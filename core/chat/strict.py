"""Schemas that OpenAI takes as strict.

Source: OpenAI's documentation of structured outputs, 2026-11. One that is outside of the subset gets a 400 there when
it is sent as strict; without the word it is obeyed as well as the model can. Other engines take or ignore the word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_UNKNOWN: Final = frozenset(
    {
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "prefixItems",
        "contains",
    }
)
"""Keywords that are not taken."""

_SAYS_WHAT: Final = frozenset({"type", "$ref", "anyOf", "enum", "const"})
"""A schema without any of these could be anything, which is not taken either."""


def fits_strict(schema: dict[str, Any]) -> bool:
    """Whether a schema is of that subset: every object in it is closed, and requires all its properties."""
    return schema.get("type") == "object" and "anyOf" not in schema and all(map(_is_strict, _schemas(schema)))


def _is_strict(schema: Any) -> bool:
    if not isinstance(schema, dict) or _UNKNOWN & schema.keys() or not _SAYS_WHAT & schema.keys():
        return False
    kind = schema.get("type")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and "properties" not in schema:
        return True
    properties, required = schema.get("properties", {}), schema.get("required", [])
    lists = isinstance(properties, dict) and isinstance(required, list)
    return lists and schema.get("additionalProperties") is False and set(properties) <= set(map(str, required))


def _schemas(root: Any) -> Iterator[Any]:
    """The schema and all schemas in it, however deep."""
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        yield schema
        if not isinstance(schema, dict):
            continue
        for key in ("properties", "$defs", "definitions"):
            named = schema.get(key)
            waiting += named.values() if isinstance(named, dict) else []
        options = schema.get("anyOf")
        waiting += options if isinstance(options, list) else []
        waiting += [schema["items"]] if "items" in schema else []
