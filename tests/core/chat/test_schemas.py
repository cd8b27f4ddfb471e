from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.schemas import schema_field, schema_prompt
from core.request import Request, Tool, ToolChoice

OPEN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
CLOSED: dict[str, Any] = {**OPEN, "required": ["a"], "additionalProperties": False}
NONE, JSON_MODE, APART = (
    Dialect(response_format="none"),
    Dialect(response_format="json_object"),
    Dialect(schema_with_tools=False),
)
F = Tool("f", {"type": "object"})


def asking(schema: dict[str, Any] | None = OPEN, **fields: Any) -> Request:
    return Request("message", output_schema=schema, **fields)


@pytest.mark.parametrize("dialect", [Dialect(), NONE, JSON_MODE, APART])
def test_no_schema(dialect: Dialect) -> None:
    assert schema_field(asking(None, tools=(F,)), dialect) == {}
    assert schema_prompt(asking(None, tools=(F,)), dialect) == ""


@pytest.mark.parametrize(("schema", "strict"), [(OPEN, {}), (CLOSED, {"strict": True})])
def test_a_schema_that_the_engine_enforces(schema: dict[str, Any], strict: dict[str, Any]) -> None:
    for request, dialect in (
        (asking(schema), Dialect()),
        (asking(schema), APART),
        (asking(schema, tools=(F,)), Dialect()),
    ):
        sent = {"name": "response", "schema": schema, **strict}
        assert schema_field(request, dialect) == {"response_format": {"type": "json_schema", "json_schema": sent}}
        assert schema_prompt(request, dialect) == ""


@pytest.mark.parametrize(
    ("request_", "dialect"),
    [
        (asking(), NONE),
        (asking(), Dialect(allowed_fields=("stop",))),
        (asking(), Dialect(response_format="json_object", allowed_fields=("stop",))),
        (asking({"type": "array", "properties": {}}), JSON_MODE),
        (asking(tools=(F,)), APART),
        (asking(tools=(F,)), Dialect(response_format="json_object", schema_with_tools=False)),
    ],
)
def test_a_schema_in_words_alone(request_: Request, dialect: Dialect) -> None:
    assert schema_field(request_, dialect) == {}
    said = schema_prompt(request_, dialect)
    assert said.startswith("Answer with one JSON value ")
    assert '"properties":{' in said
    assert ("call tools as usual" in said) is bool(request_.tools)


@pytest.mark.parametrize("schema", [OPEN, {"title": "T"}])
def test_json_mode_stands_beside_the_words(schema: dict[str, Any]) -> None:
    assert schema_field(asking(schema), JSON_MODE) == {"response_format": {"type": "json_object"}}
    assert schema_prompt(asking(schema), JSON_MODE).startswith("Answer with one JSON value ")


def test_tools_that_are_not_sent_are_none() -> None:
    deferred = asking(tools=(Tool("f", {}, defer_loading=True),))
    unwanted = asking(tools=(F,), tool_choice=ToolChoice("none"))
    silent = Dialect(schema_with_tools=False, tool_choice=("auto",))
    for request, dialect in ((deferred, APART), (unwanted, silent)):
        assert "response_format" in schema_field(request, dialect)
        assert schema_prompt(request, dialect) == ""
