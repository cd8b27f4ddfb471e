"""The schema that an answer shall conform to: as a field of the body where the engine enforces it, else in words."""

from __future__ import annotations

from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.parts import json_text
from core.chat.strict import fits_strict
from core.chat.tools import tool_fields
from core.request import Request

_ASKED: Final = (
    "Answer with one JSON value that conforms to the following JSON Schema, and with nothing before or after it: no "
    "explanation, no code fence.\n{}"
)
_BESIDE_TOOLS: Final = "This is about the answer alone: call tools as usual."


def schema_field(request: Request, dialect: Dialect) -> dict[str, Any]:
    """`response_format`, or {} where no schema is asked for and where it cannot be a field."""
    if request.output_schema is None or not dialect.takes("response_format"):
        return {}
    if _enforced(request, dialect):
        schema: dict[str, Any] = {"name": "response", "schema": request.output_schema}
        if fits_strict(request.output_schema):
            schema["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    # JSON mode gives objects alone.
    is_object = request.output_schema.get("type", "object") == "object"
    if dialect.response_format == "json_object" and is_object and not _apart(request, dialect):
        return {"response_format": {"type": "json_object"}}
    return {}


def schema_prompt(request: Request, dialect: Dialect) -> str:
    """What the system prompt says of the schema; "" where none is asked for, and where the engine enforces it.

    Raises RequestError for a schema that cannot be written as JSON.
    """
    if request.output_schema is None or _enforced(request, dialect):
        return ""
    asked = _ASKED.format(json_text(request.output_schema, "output_config.format.schema"))
    return f"{asked}\n{_BESIDE_TOOLS}" if tool_fields(request, dialect) else asked


def _enforced(request: Request, dialect: Dialect) -> bool:
    return dialect.takes_schema and not _apart(request, dialect)


def _apart(request: Request, dialect: Dialect) -> bool:
    """Whether there are tools, beside which the engine takes no format of the answer."""
    return not dialect.schema_with_tools and bool(tool_fields(request, dialect))
