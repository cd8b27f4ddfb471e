"""Which tools the demo engine calls, and with what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import orjson

from plugins.demo.ask import Ask
from plugins.demo.fill import fill


@attrs.frozen
class ToolCall:
    """One call; `arguments` is the text of a JSON object."""

    name: str
    arguments: str


def tool_calls(ask: Ask) -> list[ToolCall]:
    """The calls of the tools that the prompt names, in its order; without any, of a weather tool or the forced one."""
    offered = [tool for tool in ask.tools if ask.forced in {None, "", tool["name"]}]
    places = sorted((at, number) for number, tool in enumerate(offered) if (at := _named(tool["name"], ask.text)) >= 0)
    if places:
        ends = [*[at for at, _ in places[1:]], len(ask.text)]
        calls = [_call(offered[number], ask.text[at:end]) for (at, number), end in zip(places, ends, strict=True)]
        return calls if ask.parallel else calls[:1]
    fitting = _weather(offered, ask.text) or (offered if ask.forced is not None else [])
    return [_call(tool, ask.text) for tool in fitting[:1]]


def _call(tool: Mapping[str, Any], text: str) -> ToolCall:
    arguments = fill(tool.get("parameters"), text)
    try:
        return ToolCall(tool["name"], orjson.dumps(arguments if isinstance(arguments, dict) else {}).decode())
    except TypeError:
        # A default or enum value of the schema that is too deep or too big for JSON text.
        return ToolCall(tool["name"], "{}")


def _named(name: str, text: str) -> int:
    """Where the text names the tool; -1: it does not.

    A name such as "Read" is a word of the language too: it counts only where the text says to call it.
    """
    if name not in text:
        return -1
    quoted = rf"(?<!\w){re.escape(name)}(?!\w)"
    if name.isalpha() and name[1:].islower():
        quoted = rf"(?i:call|use|using|run)\s+(?:the\s+)?[`'\"]?{quoted}|{quoted}[`'\"]?\s+(?:tool|with)\b"
    match = re.search(quoted, text)
    return match.start() if match else -1


def _weather(offered: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
    if "weather" not in text.lower():
        return []
    return [tool for tool in offered if "weather" in tool["name"].lower()]
