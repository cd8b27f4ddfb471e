"""Dialect: what one engine's chat-completions requests must look like, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from core.chat.tool_ids import check_pattern


@attrs.frozen
class Dialect:
    """What one engine accepts and wants in a request. A backend's table in pipelines.toml may override single fields.

    The defaults are OpenAI's own chat completions. All `Mapping` fields are JSON objects merged into the body.
    """

    # --- what a request may hold ---
    allowed_fields: tuple[str, ...] = ()
    """The only fields that the engine takes at the top of a body; others are left out, or the request is refused where
    that would change its meaning. An operator's `extra_body` is sent all the same. Empty: unknown fields do no harm."""
    max_tokens_field: str = "max_tokens"
    """The one token limit that is sent."""
    max_tokens_limit: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(1))
    )
    """The most tokens that the engine takes for it; a larger limit is lowered to it. None: any number."""
    sampling: bool = True
    """Whether `temperature` and `top_p` are taken."""
    top_k: bool = False
    """Whether `top_k` is a field of the engine's."""
    stop: bool = True
    """Whether the client's stop sequences are sent (always as a list)."""
    stop_field: str = "stop"
    """The field that they are sent in."""
    max_stops: int | None = 4
    """How many the engine takes; a request with more is refused. None: any number."""
    stop_report: Literal["", "kind", "match"] = ""
    """What an answer says of the stop sequence that ended it: nothing, that there was one, or which one it was."""
    stream_usage: bool = True
    """Whether a stream is asked for its usage (`stream_options`)."""
    response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    """What `response_format` may ask for: an answer after a schema, any JSON object, or nothing. Where it is not the
    schema, that is put into the system prompt."""
    schema_with_tools: bool = True
    """Whether `response_format` may stand beside tools: some engines refuse both, others then never call one. Where
    not, the schema of a request with tools is put into the system prompt."""
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent with every request."""

    # --- messages ---
    system_role: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
    late_system: Literal["fold", "keep", "hoist"] = "fold"
    """A system turn among the messages: folded into the user's turn (most templates refuse one there), kept in place,
    or hoisted to the top."""
    user_after_tool: Literal["ok", "bridge"] = "ok"
    """Whether a user turn may follow tool results; `bridge` puts an assistant turn between them."""
    prefill: Literal["as_is", "continue", "prefix", "refuse"] = "as_is"
    """A last assistant turn: sent as it is, with `continue_final_message`, with `prefix` on it, or refused."""
    images: Literal["url", "data", "none"] = "url"
    """Which images are taken: by URL and inline, inline only, or none. Others are refused; in a tool's result and in
    an earlier turn a note stands for them."""
    image_types: tuple[str, ...] = ()
    """The media types of inline images that are taken; empty: all."""
    files: bool = False
    """Whether a PDF is taken as a `file` part; if not, its text is extracted and sent."""

    # --- reasoning ---
    reasoning_history: str = ""
    """Where the reasoning of earlier turns goes: a field of the assistant message, `parts` (content parts of type
    `thinking`), `think_tags` (in front of the content), or "": nowhere."""
    reasoning_required: bool = False
    """Whether a turn with tool calls must carry its reasoning, also an empty one, where it goes into a field."""
    keep: tuple[str, ...] = ()
    """Fields of an answer's message that the engine wants back with the turn, unchanged."""
    keep_in_calls: tuple[str, ...] = ()
    """Fields of an answer's tool call that the engine wants back with the call, unchanged."""
    thinking_on: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent when the client asks for thinking (enabled, adaptive)."""
    thinking_off: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent when the client switches thinking off (disabled, between_tools), in place of any effort; empty: the weakest
    of `efforts` is."""
    thinking_budget_field: str = ""
    """The field that takes the client's thinking budget in tokens; "": it is told as an effort."""
    efforts: tuple[str, ...] = ()
    """The values of `reasoning_effort` that the engine knows, weakest first; empty: the field is not sent."""

    # --- tools ---
    tool_choice: tuple[str, ...] = ("auto", "any", "tool", "none")
    """The modes of tool choice that the engine obeys; another one is sent as the nearest of them, `tool` with that tool
    alone, and in place of `none` no tools are sent. Empty: the field is not sent."""
    parallel_tool_calls: bool = True
    """Whether `parallel_tool_calls` is a field of the engine's."""
    tool_content: Literal["text", "parts"] = "text"
    """Whether a tool result may hold content parts (images) or only text."""
    tool_name_limit: int = 64
    """The longest tool name; a longer one, or one with other characters than a-z, A-Z, 0-9, _ and -, goes under a short
    alias."""
    tool_id_pattern: str = attrs.field(default="", validator=lambda _, __, value: check_pattern(value))
    """A regular expression that a call's id must match as a whole; another id goes under one that does. "": any."""

    # --- beside chat ---
    count: Literal["", "tokenize", "input_tokens", "chat_tokenize"] = ""
    """The engine's way to count a prompt's tokens: vLLM's and SGLang's, llama.cpp's, TGI's; "": it has none."""

    def takes(self, field: str) -> bool:
        """Whether a field may stand at the top of a body."""
        return not self.allowed_fields or field in self.allowed_fields

    @property
    def takes_schema(self) -> bool:
        """Whether a schema for the answer may be a field of the body."""
        return self.response_format == "json_schema" and self.takes("response_format")
