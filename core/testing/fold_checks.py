"""The rules that hold for a folded answer and its parts, each as a check that raises AssertionError in a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import attrs

STOP_REASONS: Final = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal")
FOREIGN: Final = frozenset(
    {"choices", "finish_reason", "object", "created", "tool_calls", "function", "logprobs", "system_fingerprint"}
    | {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
    | {"reasoning", "reasoning_content"}
)
"""Field names of chat completions that have no place in a client's answer."""
DELTAS: Final[Mapping[str, Sequence[str]]] = {
    "text": ("text_delta",),
    "thinking": ("thinking_delta", "signature_delta"),
    "tool_use": ("input_json_delta",),
}
"""The deltas that a block of each kind may get."""
FIELDS: Final[Mapping[str, Mapping[str, type]]] = {
    "text": {"text": str},
    "thinking": {"thinking": str, "signature": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "redacted_thinking": {"data": str},
}
"""The fields that a block of each kind has."""


@attrs.frozen
class Folded:
    """A folded answer: the message (as far as it came, {} if not at all) and the error that ended it, or None."""

    message: dict[str, Any]
    error: dict[str, Any] | None = None


def need(holds: object, sentence: str) -> None:
    """Raise AssertionError with that sentence unless `holds`."""
    if not holds:
        breach(sentence)


def breach(sentence: str) -> NoReturn:
    """Raise AssertionError with that sentence."""
    raise AssertionError(sentence)


def parse(data: bytes, place: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise AssertionError(f"{place} is no JSON ({error}): {data[:200]!r}") from None
    if not isinstance(value, dict):
        breach(f"{place} is no JSON object: {data[:200]!r}")
    return value


def parse_arguments(arguments: str) -> dict[str, Any]:
    """A call's input as a client has it in the end; what is no JSON object is kept raw under `unparsed_arguments`."""
    try:
        value = json.loads(arguments or "{}", parse_constant=_refuse)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"unparsed_arguments": arguments}


def check_foreign(value: Any, place: str) -> None:
    """No field name of chat completions anywhere outside a tool's input."""
    if isinstance(value, dict):
        found = FOREIGN & value.keys()
        need(not found, f"{place} has the upstream's field {', '.join(sorted(found))}")
        for name, inner in value.items():
            if not (name == "input" and value.get("type") == "tool_use"):
                check_foreign(inner, place)
    elif isinstance(value, list):
        for inner in value:
            check_foreign(inner, place)


def check_message(message: dict[str, Any], place: str) -> None:
    """The fields of a message, whole or just begun."""
    missing = [name for name in ("model", "content", "stop_reason", "stop_sequence", "usage") if name not in message]
    need(not missing, f"{place}: the message has no {', '.join(missing)}")
    need(message.get("type") == "message", f"{place}: type must be 'message'")
    need(message.get("role") == "assistant", f"{place}: role must be 'assistant'")
    need(
        str(message.get("id")).startswith("msg_"), f"{place}: the id must begin with msg_, it is {message.get('id')!r}"
    )
    need(isinstance(message["content"], list), f"{place}: content must be a list")
    check_usage(message["usage"], place)


def check_usage(usage: Any, place: str, names: Sequence[str] = ("input_tokens", "output_tokens")) -> None:
    """Token counts: the named ones are there, and every one is an integer from 0 up."""
    if not isinstance(usage, dict):
        breach(f"{place}: usage must be an object, it is {usage!r}")
    for name in {*names, *(key for key in usage if key.endswith("_tokens"))}:
        count = usage.get(name)
        counted = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        need(counted, f"{place}: usage.{name} must be a count, it is {count!r}")


def check_block(block: dict[str, Any], place: str, *, start: bool = False) -> None:
    """A content block: its fields, empty at the `start` of a stream's block and not empty at its end."""
    kind = block.get("type")
    fields = FIELDS.get(str(kind))
    if fields is None:
        breach(f"{place}: {kind!r} is no type of block")
    for name, wanted in fields.items():
        need(isinstance(block.get(name), wanted), f"{place}: {name} of a {kind} block is {block.get(name)!r}")
    if kind == "tool_use":
        need(block["id"] and block["name"], f"{place}: a tool_use block without id or name")
    if start:
        filled = [name for name in ("text", "thinking", "signature", "input") if block.get(name)]
        need(not filled, f"{place}: the block starts with {', '.join(filled)} filled")
    elif kind == "text":
        need(block["text"], f"{place}: a text block without text")


def check_stop(stop: dict[str, Any], content: Sequence[dict[str, Any]], place: str) -> None:
    """`stop_reason` and `stop_sequence`, and that they fit together and fit the content."""
    reason, sequence = stop.get("stop_reason"), stop.get("stop_sequence")
    need(reason in STOP_REASONS, f"{place}: {reason!r} is no stop_reason")
    need("stop_sequence" in stop, f"{place}: stop_sequence must be there, null or not")
    fits = bool(sequence) if reason == "stop_sequence" else sequence is None
    need(fits, f"{place}: stop_sequence {sequence!r} does not fit stop_reason {reason!r}")
    if reason == "tool_use":
        need(any(block["type"] == "tool_use" for block in content), f"{place}: tool_use without a tool_use block")


def check_error(envelope: dict[str, Any], place: str) -> dict[str, Any]:
    """The error inside an envelope `{"type":"error","error":{"type","message"}}`."""
    error = envelope.get("error")
    if not isinstance(error, dict):
        breach(f"{place}: an error envelope without error object: {envelope!r}")
    for name in ("type", "message"):
        need(error.get(name) and isinstance(error[name], str), f"{place}: error.{name} must be words: {error!r}")
    return error


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
