"""`EngineFacts`: how an engine writes its answers and takes its requests, so that the kit can play the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Self

import attrs

from core.chat.dialect import Dialect

MATCH: Final = "{match}"
"""Stands in `EngineFacts.stop_top` for the stop string that matched."""

Rewrite = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes a JSON object of its own in the usual form and returns the engine's: the same one, changed, or another."""

Headers = Mapping[str, str]
RewriteError = Callable[[dict[str, Any], int, Headers], tuple[dict[str, Any], Headers]]
"""Takes the usual body of an error, its HTTP status and the usual headers; returns the engine's body and headers."""

_AS_THEY_ARE: Final = (
    *("allowed_fields", "max_tokens_field", "max_tokens_limit", "system_role", "sampling", "top_k", "tool_id_pattern"),
    *("stream_usage", "keep", "keep_in_calls", "thinking_on", "thinking_off", "count"),
)
"""The facts that are fields of the dialect, too."""


@attrs.frozen
class EngineFacts:
    """What is true of one engine. The defaults are those of a plain server of chat completions."""

    # --- its answers ---
    reasoning_field: str = "reasoning_content"
    """The field of delta and message that holds the reasoning; "": there is none."""
    reasoning_also: tuple[str, ...] = ()
    """Fields that may repeat the same reasoning."""
    tags: tuple[str, str] | None = None
    """The tags around reasoning that the engine leaves in the text, in front of the answer; blanks around it may go.
    Beside a `reasoning_field` both ways are played."""
    stop_field: str = ""
    """The field of the choice that names the stop string that matched; "": there is none."""
    stop_top: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields at the top of a chunk that name it instead: `{"__verbose": {"word": MATCH}}`."""
    stop_finish: str = "stop"
    """The finish_reason when a stop string matched."""
    finish_reasons: Mapping[str, str] = attrs.field(factory=dict)
    """The engine's own words for `stop`, `length`, `tool_calls`, `content_filter`: `{"stop": "done"}`."""
    done: bool = True
    """Whether a stream ends with [DONE]."""
    tool_ids: bool = True
    """Whether the engine's ids of tool calls reach the client."""
    calls_whole: bool = False
    """Whether the calls of a stream come whole, each in one delta."""
    cached_tokens: bool = True
    """Whether its counts tell the cached part of the prompt apart."""
    keep: tuple[str, ...] = ()
    """Fields of the answer's message, lists, that it wants back with the turn."""
    keep_in_calls: tuple[str, ...] = ()
    """Fields of a tool call that it wants back with the call."""
    rewrite: Rewrite | None = None
    """A function that gets each delta and each message in the usual form and returns the engine's."""
    rewrite_chunk: Rewrite | None = None
    """A function that gets each whole chunk, and a completion, behind `rewrite` and `finish_reasons`; returns the
    engine's."""
    rewrite_error: RewriteError | None = None
    """A function `(body, status, headers) -> (body, headers)` that makes an error the engine's: in refusals, in bodies
    with status 200, in streams."""

    # --- its requests ---
    usual_body: Rewrite | None = None
    """A function that gets the body that reached the engine and returns it in the usual form, for the rules to read."""
    allowed_fields: tuple[str, ...] = ()
    """The only fields that it takes at the top of a body; (): any."""
    max_tokens_field: str = "max_tokens"
    """The body's field of the token limit."""
    max_tokens_limit: int | None = None
    """The most that it takes there: more is lowered to it; None: any number."""
    stops_field: str = "stop"
    """The body's field of the stop sequences (the dialect's `stop_field`)."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
    alternates: bool = False
    """Whether it wants the user's and the assistant's turns in strict alternation: the results of tools are the user's,
    and no system message stands behind the first."""
    sampling: bool = True
    """Whether `temperature` and `top_p` are sent."""
    top_k: bool = False
    """Whether `top_k` is sent."""
    max_stops: int | None = None
    """How many stop sequences it takes; None: any number."""
    tool_id_pattern: str = ""
    """What the id of a call must match as a whole; "": any is taken."""
    with_tools: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields that are sent with tools when the client leaves the choice open."""
    foreign_call: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields that an earlier call gets which the engine did not make."""
    stream_usage: bool = True
    """Whether a stream is asked for its usage by `stream_options`."""
    schema: bool = True
    """Whether a schema for the answer is sent as `response_format`."""
    images: bool = True
    """Whether images are sent."""
    tool_choice: bool = True
    """Whether a forced tool call is asked for by `tool_choice`."""
    thinking_on: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields that are sent when the client asks for thinking."""
    thinking_off: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields that are sent when the client switches thinking off."""
    no_thinking: str = ""
    """What it says, with status 400, when a model cannot think; the request is then sent without its switches."""
    reasoning_history: str = ""
    """The field of an earlier assistant message that holds its reasoning; "": not looked at."""
    count: Literal["", "tokenize", "input_tokens", "chat_tokenize"] = ""
    """How the engine counts a prompt (as in `Dialect`); "": it does not."""
    key_header: str = "authorization"
    """The header that carries the backend's key."""
    path: str = "/chat/completions"
    """The path that is asked, behind the url of the backend's table."""

    @classmethod
    def of(cls, dialect: Dialect, **rest: Any) -> Self:
        """The facts that a dialect tells of the requests, and the rest by name, which wins.

        Raises TypeError for a name that is no fact. The facts are then as right as the dialect is: they test nothing
        that it says.
        """
        told: dict[str, Any] = {name: getattr(dialect, name) for name in _AS_THEY_ARE}
        told |= {
            "max_stops": dialect.max_stops if dialect.stop else None,
            "stops_field": dialect.stop_field,
            "schema": dialect.takes_schema,
            "images": dialect.images != "none",
            "tool_choice": "any" in dialect.tool_choice and dialect.takes("tool_choice"),
            "stream_usage": dialect.stream_usage and dialect.takes("stream_options"),
            "sampling": dialect.sampling and dialect.takes("temperature") and dialect.takes("top_p"),
            "top_k": dialect.top_k and dialect.takes("top_k"),
            "reasoning_history": dialect.reasoning_history
            if dialect.reasoning_history not in ("parts", "think_tags")
            else "",
        }
        return cls(**{**told, **rest})

    @property
    def reasons(self) -> bool:
        """Whether there is reasoning in its answers."""
        return bool(self.reasoning_field or self.tags)

    @property
    def reports_match(self) -> bool:
        """Whether an answer names the stop string that matched."""
        return bool(self.stop_field or self.stop_top)
