"""What a chat-completions body asks of the demo engine, checked as a real engine checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import attrs

from plugins.demo import tokens

MESSAGE_TOKENS = 3
"""What each message costs beside its words: a real chat template frames it with marks like these."""


class RefusedError(Exception):
    """The body cannot be served: status 400."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message, self.param = message, param

    def body(self) -> dict[str, Any]:
        """The error as OpenAI shapes it."""
        return {
            "error": {"message": self.message, "type": "invalid_request_error", "param": self.param, "code": None},
        }


@attrs.frozen
class Ask:
    """One request. `forced` is the tool that must be called ("": any of them; None: as the engine likes)."""

    model: str
    text: str
    """What the user said last, without the notes that agents add for the model."""
    results: tuple[str, ...]
    """The tool results that the conversation ends with."""
    tools: tuple[Mapping[str, Any], ...] = ()
    forced: str | None = None
    parallel: bool = True
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must keep to."""
    stops: tuple[str, ...] = ()
    limit: int | None = None
    thinking: bool = True
    stream: bool = False
    include_usage: bool = False
    prompt_tokens: int = 0


def read(body: object) -> Ask:
    """The request in a body. Raises RefusedError."""
    if not isinstance(body, dict):
        raise RefusedError("The body must be a JSON object.")
    messages = _messages(body)
    tools, forced = _tools(body)
    text, results = _ending(messages)
    model = body.get("model")
    options = body.get("stream_options")
    return Ask(
        model=model if isinstance(model, str) and model else "demo",
        text=text,
        results=results,
        tools=tools,
        forced=forced,
        parallel=body.get("parallel_tool_calls") is not False,
        schema=_schema(body.get("response_format")),
        stops=_stops(body.get("stop")),
        limit=_limit(body),
        thinking=_thinking(body),
        stream=body.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        prompt_tokens=prompt_tokens(body),
    )


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """The tokens of all messages and tool definitions, and MESSAGE_TOKENS for each message."""
    messages = _messages(body)
    words = sum(tokens.count(text) for part in (messages, body.get("tools")) for text in tokens.strings(part))
    return words + MESSAGE_TOKENS * len(messages)


def _messages(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("messages must be a list with at least one message.", "messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RefusedError("A message must be an object with a role.", f"messages[{number}]")
    return messages


def _ending(messages: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """What the user said last, and the tool results that came after everything else."""
    turns = [(message["role"], without_notes(_text(message.get("content")))) for message in messages]
    turns = [(role, text) for role, text in turns if role in {"assistant", "tool"} or (role == "user" and text.strip())]
    texts = (text for role, text in reversed(turns) if role == "user")
    results = [text for _, text in takewhile(lambda turn: turn[0] == "tool", reversed(turns))]
    return next(texts, ""), tuple(reversed(results))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def without_notes(text: str) -> str:
    """The text without `<system-reminder>` notes: agents put them into the user's turn, and they name many tools."""
    opening, closing = "<system-reminder>", "</system-reminder>"
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(closing)
    return ("".join(kept) + text[at:]).strip() if kept else text


def _tools(body: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...], str | None]:
    given, choice = body.get("tools") or [], body.get("tool_choice")
    if not isinstance(given, list):
        raise RefusedError("tools must be a list.", "tools")
    functions = tuple(_function(tool, number) for number, tool in enumerate(given))
    if choice == "none":
        return (), None
    if isinstance(choice, dict):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if name not in [function["name"] for function in functions]:
            raise RefusedError("tool_choice names no function of tools.", "tool_choice")
        return functions, name
    if choice == "required" and not functions:
        raise RefusedError("tool_choice is 'required', but there are no tools.", "tool_choice")
    return functions, "" if choice == "required" else None


def _function(tool: object, number: int) -> Mapping[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise RefusedError("A tool must be an object with a function that has a name.", f"tools[{number}]")
    return function


def _schema(response_format: object) -> Mapping[str, Any] | None:
    wanted = response_format.get("json_schema") if isinstance(response_format, dict) else None
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    return schema if isinstance(schema, dict) else None


def _stops(stop: object) -> tuple[str, ...]:
    listed = [stop] if isinstance(stop, str) else [] if stop is None else stop
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        raise RefusedError("stop must be a string or a list of strings, none of them empty.", "stop")
    return tuple(listed)


def _limit(body: Mapping[str, Any]) -> int | None:
    for field in ("max_completion_tokens", "max_tokens"):
        limit = body.get(field)
        if limit is None:
            continue
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise RefusedError(f"{field} must be an integer of at least 1.", field)
        return limit
    return None


def _thinking(body: Mapping[str, Any]) -> bool:
    kwargs = body.get("chat_template_kwargs")
    switch = kwargs.get("enable_thinking") if isinstance(kwargs, dict) else None
    if isinstance(switch, bool):
        return switch
    return body.get("reasoning_effort") != "none"
