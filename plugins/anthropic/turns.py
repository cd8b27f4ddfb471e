"""What a `system` turn among the messages does beside saying something: effort, its own end, the tools from here on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import attrs
from cattrs import Converter
from cattrs.errors import BaseValidationError

from core import Message, OtherBlock, OtherTool, Request, RequestError, Tool
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import class_hook

Effort = Literal["low", "medium", "high", "xhigh", "max"]
AnyTool = Tool | OtherTool

CHANGES: Final = ("tool_addition", "tool_removal")
"""The types of block that change which tools there are; settle() has read them, nobody else needs to."""


@attrs.frozen
class TurnConfig:
    """`output_config` of a system turn."""

    effort: Effort | None = None


@attrs.frozen
class SystemTurn(Message):
    """A system turn with what only it may say; once settled it is a plain Message."""

    output_config: TurnConfig = attrs.field(factory=TurnConfig)
    clear_at: str = ""


def message_hook(converter: Converter, content: Hook) -> Hook:
    """A hook for one entry of `messages`; a system turn may do without content.

    Turns of the other two are read directly, and by cattrs where that fails: it explains every fault.
    """
    spoken = class_hook(converter, Message, content=content)
    system = class_hook(converter, SystemTurn, content=content)

    def structure(value: Any, _: Any) -> Any:
        if value.__class__ is Message:  # known from an earlier request
            return value
        role = value.get("role") if isinstance(value, dict) else None
        if role in ("user", "assistant"):
            try:
                return Message(role, content(value.get("content"), None))
            except (FaultError, BaseValidationError):
                pass
        if role != "system":
            return spoken(value, None)
        silent = value.get("content") is None and value.get("output_config") is not None
        return system({**value, "content": []} if silent else value, None)

    return structure


def settle(request: Request, read_tool: Hook) -> Request:
    """The request with all that its system turns ask for done; messages and blocks keep their places.

    The effort asked for last is that of the next reply; a turn with `clear_at` "next_user_message" says nothing any
    more once a user's turn follows; tools come and go in the order of the turns. `read_tool` is a hook for one tool.
    Raises RequestError for a faulty tool.
    """
    turns = [turn for turn in request.messages if isinstance(turn, SystemTurn)]
    if not turns:
        return request
    efforts = [turn.output_config.effort for turn in turns if turn.output_config.effort]
    last_user = max((at for at, message in enumerate(request.messages) if message.role == "user"), default=-1)
    return attrs.evolve(
        request,
        effort=efforts[-1] if efforts else request.effort,
        tools=_offered(request, read_tool),
        messages=tuple([_settled(message, cleared=at < last_user) for at, message in enumerate(request.messages)]),
    )


def _settled(message: Message, *, cleared: bool) -> Message:
    if not isinstance(message, SystemTurn):
        return message
    return Message("system", () if cleared and message.clear_at == "next_user_message" else message.content)


def _offered(request: Request, read_tool: Hook) -> tuple[AnyTool, ...]:
    """The tools after all changes; what is said of MCP servers' tools is passed over, for they are refused anyway."""
    changes = list(_changes(request.messages))
    if not changes:
        return request.tools
    known = {_key(tool): tool for tool in request.tools}
    offered = dict(known)
    for place, addition, target in changes:
        name = target.get("name")
        if addition and target.get("type") == "tool_definition":
            tool = _read(target.get("definition"), read_tool, f"{place}.tool.definition")
            known[_key(tool)] = offered[_key(tool)] = tool
        elif target.get("type") != "tool_reference" or not isinstance(name, str):
            continue
        elif not addition:
            offered.pop(name, None)
        elif name in known:
            tool = known[name]
            offered[name] = attrs.evolve(tool, defer_loading=False) if isinstance(tool, Tool) else tool
    return tuple(offered.values())


def _key(tool: AnyTool) -> str:
    return tool.name or (tool.type if isinstance(tool, OtherTool) else "")


def _changes(messages: Sequence[Message]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Each change: its place, whether it is an addition, and the `tool` it names."""
    for number, message in enumerate(messages):
        for at, block in enumerate(message.content):
            if message.role == "system" and isinstance(block, OtherBlock) and block.type in CHANGES:
                place = f"messages.{number}.content.{at}.{block.type}"
                target = block.raw.get("tool")
                if not isinstance(target, dict):
                    raise RequestError(f"{place}.tool: Input should be an object")
                yield place, block.type == "tool_addition", target


def _read(definition: Any, read_tool: Hook, place: str) -> AnyTool:
    try:
        tool: AnyTool = read_tool(definition, None)
    except (FaultError, BaseValidationError) as error:
        raise RequestError(f"{place}.{explain(error)}") from None
    return tool
