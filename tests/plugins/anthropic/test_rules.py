from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import (
    Block,
    ImageBlock,
    Message,
    OtherBlock,
    OtherTool,
    Request,
    RequestError,
    TextBlock,
    Tool,
    ToolChoice,
    ToolResultBlock,
)
from core import ToolUseBlock as Use
from core.request import Role
from plugins.anthropic.rules import check, check_pairing, check_system_turns

SERVERS = OtherBlock("server_tool_use", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})
HI = Message("user", (TextBlock("hi"),))
REQUEST = Request("message", model="m", max_tokens=1, messages=(HI,))


def said(role: Role, *blocks: Block) -> Message:
    return Message(role, blocks)


def use(name: str) -> Use:
    return Use(name, "f")


def result(name: str) -> ToolResultBlock:
    return ToolResultBlock(name)


def fault(**fields: Any) -> str:
    with pytest.raises(RequestError) as caught:
        check(attrs.evolve(REQUEST, **fields))
    assert caught.value.status == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": ""}, "model: String should have at least 1 character"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": ()}, "messages: at least one message is required"),
        ({"stop_sequences": ("END", " \n")}, "stop_sequences: each stop sequence must contain non-whitespace"),
        ({"tools": (Tool("f", {}), OtherTool("x", "f", {}))}, "tools: Tool names must be unique."),
        ({"tools": (Tool("", {}),)}, "tools.0.custom.name: String should have at least 1 character"),
        ({"tool_choice": ToolChoice("tool", "x")}, "tool_choice: Tool 'x' not found in provided tools"),
    ],
)
def test_the_wordings(fields: dict[str, Any], message: str) -> None:
    assert fault(**fields) == message


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"task": "count_tokens", "max_tokens": None},
        {"tools": (OtherTool("a", "", {}), OtherTool("b", "", {}))},
        {"tools": (OtherTool("bash_20250124", "bash", {}),), "tool_choice": ToolChoice("tool", "bash")},
        {"tool_choice": ToolChoice("any")},
    ],
)
def test_what_is_allowed(fields: dict[str, Any]) -> None:
    check(attrs.evolve(REQUEST, **fields))


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(
            [HI, said("assistant", use("a"), use("b")), said("user", result("b"), result("a"))], id="any order"
        ),
        pytest.param(
            [
                said("assistant", use("a"), use("b")),
                said("user", result("a")),
                said("user", result("b"), TextBlock("x")),
            ],
            id="results over two messages",
        ),
        pytest.param(
            [said("assistant", use("a")), said("assistant", use("b")), said("user", result("a"), result("b"))],
            id="calls over two messages",
        ),
        pytest.param(
            [said("assistant", use("a")), said("system", TextBlock("s")), said("user", result("a"))],
            id="a system message in between",
        ),
        pytest.param(
            [said("assistant", use("a")), said("user", result("a"))] * 2,
            id="ids used again in a later turn",
        ),
        pytest.param(
            [said("assistant", use("a")), said("user", TextBlock("x"), result("a"))], id="text before results"
        ),
        pytest.param([HI, said("assistant", TextBlock("prefill"))], id="no calls"),
        pytest.param([said("assistant", SERVERS), HI], id="a call that its own server answers"),
        pytest.param([said("assistant", SERVERS), said("user", result("s"))], id="such a call with a result"),
        pytest.param(
            [said("assistant", SERVERS, use("a")), said("user", result("s"), result("a"))], id="both kinds in one turn"
        ),
        pytest.param(
            [said("assistant", SERVERS), HI, said("assistant", use("s")), said("user", result("s"))],
            id="an id of both kinds",
        ),
    ],
)
def test_pairs(messages: list[Message]) -> None:
    check_pairing(messages)


UNANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after: "
ORPHAN = "unexpected `tool_use_id` found in `tool_result` blocks: "


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([HI, said("assistant", use("a"), use("b")), said("user", result("a"))], f"messages.1: {UNANSWERED}b. Each"),
        ([HI, said("assistant", use("a"), use("b"))], f"messages.1: {UNANSWERED}a, b. Each"),
        ([said("assistant", use("a")), HI, said("user", result("a"))][:2], f"messages.0: {UNANSWERED}a. Each"),
        (
            [said("assistant", use("a")), HI, said("assistant"), said("user", result("a"))],
            f"messages.0: {UNANSWERED}a. Each",
        ),
        ([said("user", TextBlock("x"), result("z"))], f"messages.0.content.1: {ORPHAN}z. Each"),
        (
            [said("assistant", use("a")), said("user", result("a")), said("assistant"), said("user", result("a"))],
            f"messages.3.content.0: {ORPHAN}a. Each",
        ),
        (
            [said("assistant", use("a")), said("user", result("a"), result("a"))],
            "messages.1.content.1: each `tool_use` must have a single result.",
        ),
        ([said("assistant", use("a"), use("a"))], "messages.0.content.1: `tool_use` ids must be unique"),
        ([said("user", use("a"))], "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages"),
        ([said("assistant", result("a"))], "messages.0.content.0: `tool_result` blocks can only be in `user` messages"),
    ],
)
def test_broken_pairs(messages: list[Message], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_pairing(messages)
    assert caught.value.message.startswith(message)


def test_a_system_turn_holds_text() -> None:
    check_system_turns(
        (Message("system", (TextBlock("a"), OtherBlock("tool_addition", {}))), Message("user", (ImageBlock(url="u"),)))
    )
    with pytest.raises(RequestError, match=r"^messages\.1\.content\.1: a `system` message holds `text` blocks alone$"):
        check_system_turns((Message("user", ()), Message("system", (TextBlock("a"), ImageBlock(url="u")))))
