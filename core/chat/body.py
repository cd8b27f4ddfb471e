"""Request and dialect to the JSON body of a chat-completions request. Pure; the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.chat.dialect import Dialect
from core.chat.limits import only_allowed, stop_list, token_limit
from core.chat.messages import chat_messages
from core.chat.prefill import continued
from core.chat.schemas import schema_field
from core.chat.thinking import thinking_fields
from core.chat.tools import tool_fields
from core.errors import RequestError
from core.request import Request
from core.route import Candidate


def chat_body(
    request: Request, *, candidate: Candidate, dialect: Dialect, stream: bool, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body as a dict, in a fixed order of keys, for the model of one candidate.

    The dialect's own `extra` is merged over it, then `extra` (the backend's `extra_body`), then the candidate's.
    Raises RequestError, with the path of the fault, for what this dialect cannot say.
    """
    messages = chat_messages(request, dialect)
    _refuse_silence(request, messages, dialect)
    limit = token_limit(request, candidate, dialect)
    body: dict[str, Any] = {"model": candidate.model, "messages": messages}
    if limit is not None:
        body[dialect.max_tokens_field] = limit
    body.update(_sampling(request, dialect))
    if request.stop_sequences and dialect.stop:
        body[dialect.stop_field] = stop_list(request, dialect)
    body["stream"] = stream
    if stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    body.update(tool_fields(request, dialect))
    body = merge(body, thinking_fields(request, dialect, limit))
    body.update(schema_field(request, dialect))
    body.update(continued(messages, request, dialect))
    body = merge(only_allowed(body, dialect), dialect.extra)
    return merge(merge(body, extra or {}), candidate.extra_body)


def merge(base: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `more` on top; objects are merged key by key. Neither is changed."""
    if not more:
        return base
    out = dict(base)
    for key, value in more.items():
        mine = out.get(key)
        out[key] = merge(mine if isinstance(mine, dict) else {}, value) if isinstance(value, Mapping) else value
    return out


def _refuse_silence(request: Request, messages: list[dict[str, Any]], dialect: Dialect) -> None:
    """Raise for a conversation of empty turns: engines answer nothing, or with words that help nobody."""
    prompt_alone = all(message["role"] == dialect.system_role for message in messages)
    if request.task == "message" and prompt_alone and not any(turn.role == "system" for turn in request.messages):
        raise RequestError("messages: there is nothing in them to answer; send a user message with content")


def _sampling(request: Request, dialect: Dialect) -> dict[str, Any]:
    both = {"temperature": request.temperature, "top_p": request.top_p} if dialect.sampling else {}
    wanted = both | ({"top_k": request.top_k} if dialect.top_k else {})
    return {key: value for key, value in wanted.items() if value is not None}
