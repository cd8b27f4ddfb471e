"""Request and dialect to the JSON body of a chat-completions request. Pure; the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.chat.dialect import Dialect
from core.chat.messages import chat_messages
from core.errors import RequestError
from core.request import OtherTool, Request, Tool, ToolReferenceBlock, ToolResultBlock

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All values of `reasoning_effort`, weakest first."""


def chat_body(
    request: Request, *, model: str, dialect: Dialect, stream: bool, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body as a dict, in a fixed order of keys; `extra` (an operator's `extra_body`) is merged last.

    Raises RequestError, with the path of the fault, for what this dialect cannot say.
    """
    body: dict[str, Any] = {"model": model, "messages": chat_messages(request, dialect)}
    if request.max_tokens is not None:
        # 0 means "only read the prompt": engines refuse it, so one token is asked for (and thrown away by the answer).
        body[dialect.max_tokens_field] = max(1, request.max_tokens)
    sampling = {"temperature": request.temperature, "top_p": request.top_p}
    body.update((key, value) for key, value in sampling.items() if value is not None)
    if request.top_k is not None and dialect.top_k:
        body["top_k"] = request.top_k
    if request.stop_sequences and dialect.stop:
        body["stop"] = _stop(request, dialect)
    body["stream"] = stream
    if stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    body.update(_tools(request, dialect))
    body = merge(body, _thinking(request, dialect))
    if request.output_schema is not None:
        schema = {"name": "response", "schema": request.output_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return merge(merge(body, dialect.extra), extra or {})


def merge(base: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `more` on top; objects are merged key by key. Neither is changed."""
    out = dict(base)
    for key, value in more.items():
        mine = out.get(key)
        out[key] = merge(mine if isinstance(mine, dict) else {}, value) if isinstance(value, Mapping) else value
    return out


def _stop(request: Request, dialect: Dialect) -> list[str]:
    stops = list(request.stop_sequences)
    if dialect.max_stops is not None and len(stops) > dialect.max_stops:
        raise RequestError(
            f"stop_sequences: this model's server takes at most {dialect.max_stops}, the request has {len(stops)}"
        )
    return stops


def _thinking(request: Request, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {}
    thinking = request.thinking
    if request.effort and dialect.efforts:
        out["reasoning_effort"] = nearest(request.effort, dialect.efforts)
    if thinking is None:
        return out
    if thinking.mode in ("disabled", "between_tools"):
        return merge(out, dialect.thinking_off)
    if thinking.budget_tokens and dialect.thinking_budget_field:
        out[dialect.thinking_budget_field] = thinking.budget_tokens
    return merge(out, dialect.thinking_on)


def nearest(effort: str, known: Iterable[str]) -> str:
    """The strongest known effort that is not above the one asked for, else the weakest known.

    "none" is no answer to a wish for little, unless it is all there is; a word of the engine's own stands above all.
    """
    ranked = sorted(known, key=_rank)
    working = [value for value in ranked if value != "none"] or ranked
    fitting = [value for value in working if _rank(value) <= _rank(effort)]
    return fitting[-1] if fitting else working[0]


def _rank(effort: str) -> int:
    return EFFORTS.index(effort) if effort in EFFORTS else len(EFFORTS)


def _tools(request: Request, dialect: Dialect) -> dict[str, Any]:
    named = _referenced(request)
    tools = []
    for number, tool in enumerate(request.tools):
        if isinstance(tool, OtherTool):
            raise RequestError(
                f"tools.{number}: {tool.type!r} is run or defined by Anthropic's own service, which is not here; "
                "send a tool with an input_schema"
            )
        if not tool.defer_loading or tool.name in named:
            tools.append(_function(tool))
    if not tools:
        return {}
    out: dict[str, Any] = {"tools": tools}
    choice = request.tool_choice
    if choice is None:
        return out
    out["tool_choice"] = _choice(choice.mode, choice.name, dialect)
    if not choice.parallel and dialect.parallel_tool_calls:
        out["parallel_tool_calls"] = False
    return out


def _choice(mode: str, name: str, dialect: Dialect) -> Any:
    words: dict[str, Any] = {"auto": "auto", "any": "required", "none": "none"}
    if mode == "tool" and "tool" in dialect.tool_choice:
        return {"type": "function", "function": {"name": name}}
    if mode == "tool":
        mode = "any"
    return words[mode if mode in dialect.tool_choice else "auto"]


def _function(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.input_schema
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _referenced(request: Request) -> set[str]:
    """The deferred tools that the history made available."""
    return {
        inner.tool_name
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
        for inner in block.content
        if isinstance(inner, ToolReferenceBlock)
    }
