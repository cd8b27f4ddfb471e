"""Deltas: the units an answer is made of, between the upstream's chunks and the client's events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]


@attrs.frozen
class Thinking:
    """A piece of the model's reasoning, never empty."""

    text: str


@attrs.frozen
class State:
    """What the engine wants back with this turn, for the client to keep without looking into it.

    `message` holds fields of the assistant message (`reasoning_details`, say); lists of later ones are appended to
    those of earlier ones. `calls` holds, by the id that the client knows the call by, fields of that tool call.
    """

    message: Mapping[str, Any] = attrs.field(factory=dict)
    calls: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen
class Text:
    """A piece of the answer's text, never empty."""

    text: str


@attrs.frozen
class ToolUse:
    """A piece of one tool call.

    The first piece of a call carries `id` and `name` (both non-empty), later ones only `index` and `arguments`.
    `index` numbers the calls of one answer from 0; a call's pieces come together, in order. The pieces' `arguments`
    joined are the call's JSON object ("{}" when it has none).
    """

    index: int
    arguments: str = ""
    id: str = ""
    name: str = ""


@attrs.frozen
class Usage:
    """Token counts so far; a later one replaces an earlier one.

    `input_tokens` is the whole prompt, cached tokens included; `cache_read_tokens` and `cache_creation_tokens` are the
    parts of it that came from or went into a prefix cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0


@attrs.frozen
class Stop:
    """The end of the answer: why, and which of the client's stop sequences matched (only with `stop_sequence`)."""

    reason: StopReason
    sequence: str | None = None


@attrs.frozen
class Model:
    """One model a client may name: the answer to a `models` request is made of these.

    `created` is Unix time; `context` is the size of the model's window and `max_output_tokens` the longest answer, in
    tokens (None: not known).
    """

    id: str
    display_name: str = ""
    created: int = 0
    context: int | None = None
    max_output_tokens: int | None = None


Delta = Thinking | State | Text | ToolUse | Usage | Stop | Model
