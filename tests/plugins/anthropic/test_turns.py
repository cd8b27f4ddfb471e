from __future__ import annotations

from typing import Any

import attrs
import pytest
from cattrs.errors import BaseValidationError

from core import Message, OtherTool, Request, RequestError, TextBlock, Tool
from plugins.anthropic.blocks import content_hook
from plugins.anthropic.body import Body, body_hook
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.structure import new_converter
from plugins.anthropic.tools import tool_hook
from plugins.anthropic.turns import message_hook, settle

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "ok"}
TOOLS: list[dict[str, Any]] = [
    {"name": "a", "input_schema": {}},
    {"name": "b", "input_schema": {}, "defer_loading": True},
    {"type": "web_search_20260318", "name": "web_search"},
]
A, B = Tool("a", {}), Tool("b", {}, defer_loading=True)
SEARCH = OtherTool("web_search_20260318", "web_search", TOOLS[2])


def system(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(blocks), **fields}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def settled(*messages: Any, **fields: Any) -> Request:
    converter = new_converter()
    body: Body = body_hook(converter)({"model": "m", "messages": list(messages), **fields}, None)
    return settle(body.request("message"), tool_hook(converter))


def change(kind: str, tool: Any) -> dict[str, Any]:
    return system({"type": f"tool_{kind}", "tool": tool})


def named(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "name": name}


def test_the_effort_asked_for_last_wins() -> None:
    low, high = (system(text("s"), output_config={"effort": effort}) for effort in ("low", "high"))
    top = {"output_config": {"effort": "max"}}
    assert settled(USER, low, SAID, USER, high, **top).effort == "high"
    assert settled(USER, low, SAID, USER, system(text("s"), output_config={}), **top).effort == "low"
    assert settled(USER, system(text("s"), output_config={"effort": None}), **top).effort == "max"


def test_a_turn_that_only_sets_the_effort_needs_no_content() -> None:
    request = settled(USER, {"role": "system", "output_config": {"effort": "low"}})
    assert (request.effort, request.messages[1]) == ("low", Message("system", ()))


def test_only_system_turns_say_such_things() -> None:
    request = settled({**USER, "output_config": {"effort": 1}, "clear_at": "next_user_message"}, SAID, USER)
    assert (request.effort, request.messages[0].content) == (None, (TextBlock("hi"),))


def test_a_turn_is_cleared_once_a_user_speaks_again() -> None:
    now = system(text("now"), clear_at="next_user_message")
    kept = system(text("kept"), clear_at="never")
    request = settled(USER, now, SAID, kept, USER, now)
    assert [[block.text for block in message.content if isinstance(block, TextBlock)] for message in request.messages][
        1::2
    ] == [[], ["kept"], ["now"]]
    assert {type(message) for message in request.messages} == {Message}


def test_a_cleared_turn_keeps_its_effect() -> None:
    turn = system(text("x"), clear_at="next_user_message", output_config={"effort": "low"})
    assert settled(USER, turn, SAID, USER).effort == "low"


def test_a_deferred_tool_is_added() -> None:
    request = settled(USER, change("addition", named("b")), tools=TOOLS)
    assert request.tools == (A, attrs.evolve(B, defer_loading=False), SEARCH)


def test_a_tool_is_removed_and_comes_back() -> None:
    gone, back = change("removal", named("a")), change("addition", named("a"))
    assert settled(USER, gone, tools=TOOLS).tools == (B, SEARCH)
    assert settled(USER, gone, SAID, USER, back, tools=TOOLS).tools == (B, SEARCH, A)
    assert settled(USER, back, SAID, USER, gone, tools=TOOLS).tools == (B, SEARCH)


def test_a_tool_defined_on_the_way() -> None:
    definition = {"type": "tool_definition", "definition": {"name": "c", "input_schema": {}}}
    request = settled(USER, change("addition", definition), change("removal", named("a")), tools=TOOLS)
    assert request.tools == (B, SEARCH, Tool("c", {}))


@pytest.mark.parametrize(
    "tool", [named("nobody"), {"type": "mcp_toolset_reference", "server_name": "s"}, {"type": "tool_reference"}]
)
@pytest.mark.parametrize("kind", ["addition", "removal"])
def test_what_names_no_tool_here_changes_nothing(kind: str, tool: Any) -> None:
    assert settled(USER, change(kind, tool), tools=TOOLS).tools == (A, B, SEARCH)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("a", "messages.1.content.0.tool_addition.tool: Input should be an object"),
        (
            {"type": "tool_definition", "definition": {"name": "c"}},
            "messages.1.content.0.tool_addition.tool.definition.custom.input_schema: Field required",
        ),
    ],
)
def test_faulty_changes(tool: Any, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        settled(USER, change("addition", tool))
    assert caught.value.message == message


def test_faults_of_a_system_turn_have_their_place() -> None:
    with pytest.raises(BaseValidationError) as caught:
        settled(USER, system(text("s"), output_config={"effort": "x"}))
    assert explain(caught.value).startswith("messages.1.output_config.effort: Input should be 'low'")
    with pytest.raises(BaseValidationError) as caught:
        settled(USER, {"role": "system"})
    assert explain(caught.value) == "messages.1.content: Field required"


def test_without_system_turns_nothing_is_touched() -> None:
    request = Request("message", messages=(Message("user", (TextBlock("hi"),)),))
    assert settle(request, tool_hook(new_converter())) is request


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"role": "user"}, "content: Field required"),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text"}]},
            "content.1.text.text: Field required",
        ),
        ({"role": "tool", "content": "a"}, "role: Input should be 'user', 'assistant' or 'system'"),
        ({"role": ["user"], "content": "a"}, "role: Input should be 'user', 'assistant' or 'system'"),
    ],
)
def test_a_fault_in_a_turn_is_explained_with_its_place(message: Any, fault: str) -> None:
    converter = new_converter()
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        message_hook(converter, content_hook(converter))(message, None)
    assert explain(caught.value).startswith(fault)
