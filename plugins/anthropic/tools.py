"""Tools and the choice among them: JSON -> Tool, OtherTool, ToolChoice of core.request."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import attrs
from cattrs import Converter

from core import OtherTool, Tool, ToolChoice
from plugins.anthropic.client_tools import client_tool
from plugins.anthropic.faults import FaultError
from plugins.anthropic.plain import plain_tool
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import class_hook, json_object, tagged


@attrs.frozen
class Choice:
    """`tool_choice`, but for its type."""

    disable_parallel_tool_use: bool = False


@attrs.frozen
class NamedChoice:
    """`tool_choice` of type `tool`."""

    name: str
    disable_parallel_tool_use: bool = False


@attrs.frozen
class NamedTool:
    """What a tool that is defined by its type may still say."""

    name: str = ""
    defer_loading: bool = False


def tool_hook(converter: Converter) -> Hook:
    """A hook for one tool.

    It is a client's own when its `type` is absent, null or `custom`, else one known by its type: a Tool when the client
    runs it and its schema is public, an OtherTool when not.
    """
    named = class_hook(converter, NamedTool)

    def other(value: dict[str, Any], _: Any) -> Tool | OtherTool:
        known: NamedTool = named(value, None)
        tool = client_tool(value["type"], known.name, defer_loading=known.defer_loading)
        return tool or OtherTool(value["type"], known.name, json_object(value))

    tool = tagged({"custom": class_hook(converter, Tool)}, other)

    def structure(value: Any, _: Any) -> Tool | OtherTool:
        if value.__class__ is Tool:  # known from an earlier request
            return value
        if value.__class__ is dict and value.get("type") in (None, "custom"):
            with suppress(FaultError):  # the general way tells its place
                if plain := plain_tool(value):
                    return plain
            value = {**value, "type": "custom"}
        return tool(value, None)  # type: ignore[no-any-return]

    return structure


def choice_hook(converter: Converter) -> Hook:
    """A hook for `tool_choice`."""
    plain, named = class_hook(converter, Choice), class_hook(converter, NamedChoice)

    def structure(value: dict[str, Any], _: Any) -> ToolChoice:
        mode = value["type"]
        choice: Choice | NamedChoice = (named if mode == "tool" else plain)(value, None)
        name = choice.name if isinstance(choice, NamedChoice) else ""
        return ToolChoice(mode, name, parallel=not choice.disable_parallel_tool_use)

    return tagged(dict.fromkeys(("auto", "any", "tool", "none"), structure))
