"""`EngineFacts`: how an engine writes its answers and takes its requests, so that the kit can play the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

MATCH: Final = "{match}"
"""Stands in `EngineFacts.stop_top` for the stop string that matched."""

Rewrite = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes a delta or a message in the usual form and gives the engine's own; it is called for whole and for pieces."""


@attrs.frozen
class EngineFacts:
    """What is true of one engine. The defaults are those of a plain server of chat completions."""

    # --- its answers ---
    reasoning_field: str = "reasoning_content"
    """The field of delta and message that holds the reasoning; "": the engine never sends any."""
    reasoning_also: tuple[str, ...] = ()
    """Fields that may repeat the same reasoning."""
    tags: tuple[str, str] | None = None
    """The tags around reasoning that the engine leaves in the text, in front of the answer; blanks inside are lost."""
    stop_field: str = ""
    """The field of the choice that names the stop string that matched; "": there is none."""
    stop_top: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields at the top of a chunk that name it instead: `{"__verbose": {"word": MATCH}}`."""
    stop_finish: str = "stop"
    """The finish_reason when a stop string matched."""
    done: bool = True
    """Whether a stream ends with [DONE]."""
    tool_ids: bool = True
    """Whether the engine's ids of tool calls reach the client."""
    keep: tuple[str, ...] = ()
    """Fields of the answer's message, lists, that it wants back with the turn."""
    keep_in_calls: tuple[str, ...] = ()
    """Fields of a tool call that it wants back with the call."""
    rewrite: Rewrite | None = None
    """Turns the usual form of a delta or a message into the engine's, for one that is told by no field here."""

    # --- its requests ---
    allowed_fields: tuple[str, ...] = ()
    """The only fields that it takes at the top of a body; (): any."""
    max_tokens_field: str = "max_tokens"
    """The body's field of the token limit."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
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

    @property
    def reasons(self) -> bool:
        """Whether there is reasoning in its answers."""
        return bool(self.reasoning_field or self.tags)

    @property
    def reports_match(self) -> bool:
        """Whether an answer names the stop string that matched."""
        return bool(self.stop_field or self.stop_top)
