"""The conversation: canonical messages to chat-completions messages. Pure, and stable byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from core.chat.assistant import assistant_message, own_text
from core.chat.dialect import Dialect
from core.chat.parts import Part, Place, all_text, joined, parts_of, path_of, text_parts
from core.chat.results import tool_messages
from core.chat.schemas import schema_prompt
from core.chat.tool_ids import ToolIds
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    Request,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

_REMINDER: Final = "<system-reminder>\n{}\n</system-reminder>"
_BRIDGE: Final = "OK."
_OF_ASSISTANT: Final = (ToolUseBlock, ImageBlock, DocumentBlock, SearchResultBlock)
_NOT_OF_USER: Final = (ToolUseBlock, ThinkingBlock, RedactedThinkingBlock)

Turns = list[tuple[int, Message]]
"""Turns with their index in the request."""


def chat_messages(request: Request, dialect: Dialect) -> list[dict[str, Any]]:
    """The `messages` of the body: the system prompt, then the turns, neighbours of one role merged.

    Raises RequestError, with the path of the block, for what no text model can be sent.
    """
    ids = ToolIds(dialect.tool_id_pattern)
    out: list[dict[str, Any]] = []
    if text := _system(request, dialect):
        out.append({"role": dialect.system_role, "content": text})
    before: Turns = []
    last = last_user_turn(request.messages)
    for is_model, turns in _sections(request.messages, dialect):
        if is_model:
            message = assistant_message(_placed(turns), dialect, ids)
            out += [message] if message else []
        else:
            out += _others(turns, before, dialect, ids, last)
        before = turns
    return out


def last_user_turn(turns: Sequence[Message]) -> int:
    """The index of the user's last turn, the one that the client can still change; -1 without any."""
    return next((at for at in reversed(range(len(turns))) if turns[at].role == "user"), -1)


def _system(request: Request, dialect: Dialect) -> str:
    texts = [block.text for block in request.system]
    if dialect.late_system == "hoist":
        texts += [_text(turn) for turn in request.messages if turn.role == "system"]
    return "\n\n".join(filter(None, [*texts, schema_prompt(request, dialect)]))


def _sections(turns: Iterable[Message], dialect: Dialect) -> Iterator[tuple[bool, Turns]]:
    """Runs of turns, the model's and all others' alternating. Turns that say nothing are left out: neighbours meet."""
    hoist = dialect.late_system == "hoist"
    run: Turns = []
    was_model = False
    for number, turn in enumerate(turns):
        if (hoist and turn.role == "system") or not _says_something(turn):
            continue
        is_model = turn.role == "assistant"
        if run and is_model is not was_model:
            yield was_model, run
            run = []
        was_model = is_model
        run.append((number, turn))
    if run:
        yield was_model, run


def _says_something(turn: Message) -> bool:
    if turn.role == "system":
        return bool(_text(turn))
    is_model = turn.role == "assistant"
    for block in turn.content:
        if block.__class__ is TextBlock:
            says = bool(block.text)
        elif is_model:
            says = isinstance(block, _OF_ASSISTANT) or bool(own_text(block))
        else:
            says = not isinstance(block, _NOT_OF_USER)
        if says:
            return True
    return False


def _others(turns: Turns, before: Turns, dialect: Dialect, ids: ToolIds, last: int) -> list[dict[str, Any]]:
    """The turns between two of the model's: results first, each one a message, then all else in its order.

    The results come in the order of the calls, which are in the model's turns `before`.
    """
    placed = _placed(turns)
    results = [(block, place) for block, place in placed if isinstance(block, ToolResultBlock)]
    if len(results) > 1:
        calls = [block.id for _, turn in before for block in turn.content if isinstance(block, ToolUseBlock)]
        order = {identity: at for at, identity in enumerate(calls)}
        results.sort(key=lambda item: order.get(item[0].tool_use_id, len(order)))
    out, shown = tool_messages(results, dialect, ids)
    if len(results) == len(placed) and not shown:
        return out
    rest = [("user", shown), *_rest(turns, dialect, last)]
    rest = [(role, parts) for role, parts in rest if parts]
    if out and rest and dialect.user_after_tool == "bridge":
        out.append({"role": "assistant", "content": _BRIDGE})
    for role, run in groupby(rest, key=lambda item: item[0]):
        parts = [part for _, some in run for part in some]
        out.append({"role": role, "content": joined(parts, "\n\n") if all_text(parts) else parts})
    return out


def _rest(turns: Turns, dialect: Dialect, last: int) -> Iterator[tuple[str, list[Part]]]:
    """Role and content parts of all that is no result; what cannot be sent is refused in the turn `last` alone."""
    for number, turn in turns:
        if turn.role != "system":
            for block, place in _placed([(number, turn)]):
                if not isinstance(block, ToolResultBlock):
                    yield "user", parts_of(block, path_of(place), dialect, noted=number != last)
        elif dialect.late_system == "keep":
            yield dialect.system_role, text_parts(_text(turn))
        else:
            yield "user", text_parts(_REMINDER.format(_text(turn)))


def _placed(turns: Turns) -> list[tuple[Block, Place]]:
    """The blocks with their places."""
    return [(block, (number, at)) for number, turn in turns for at, block in enumerate(turn.content)]


def _text(turn: Message) -> str:
    return "\n\n".join(block.text for block in turn.content if isinstance(block, TextBlock) and block.text)
