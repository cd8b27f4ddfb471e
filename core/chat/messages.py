"""The conversation: canonical messages to chat-completions messages. Pure, and stable byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.parts import Part, json_text, parts_of
from core.errors import RequestError
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
_OF_ASSISTANT: Final = (TextBlock, ToolUseBlock, ImageBlock, DocumentBlock, SearchResultBlock)
_NOT_OF_USER: Final = (ToolUseBlock, ThinkingBlock, RedactedThinkingBlock)


def chat_messages(request: Request, dialect: Dialect) -> list[dict[str, Any]]:
    """The `messages` of the body: the system prompt, then the turns, neighbours of one role merged.

    Raises RequestError, with the path of the block, for what no text model can be sent.
    """
    out: list[dict[str, Any]] = []
    system = [block.text for block in request.system]
    if dialect.late_system == "hoist":
        system += [_joined(turn.content) for turn in request.messages if turn.role == "system"]
    if text := "\n\n".join(filter(None, system)):
        out.append({"role": dialect.system_role, "content": text})
    for role, blocks in _runs(request.messages, dialect.late_system):
        if role == "assistant":
            out += _assistant(blocks, dialect)
        elif role == "system":
            out.append({"role": dialect.system_role, "content": _joined(block for block, _ in blocks)})
        else:
            out += _user(blocks)
    return out


def _runs(turns: Iterable[Message], late_system: str) -> Iterator[tuple[str, list[tuple[Block, str]]]]:
    """Runs of one role, each block with its path. Turns that say nothing are left out: their neighbours meet."""
    run: list[tuple[Block, str]] = []
    last = ""
    for number, turn in enumerate(turns):
        role: str = turn.role
        if not _says_something(turn) or (role == "system" and late_system == "hoist"):
            continue
        blocks = [(block, f"messages.{number}.content.{at}") for at, block in enumerate(turn.content)]
        if role == "system" and late_system == "fold":
            role = "user"
            blocks = [(TextBlock(_REMINDER.format(_joined(turn.content))), f"messages.{number}.content")]
        if role != last and run:
            yield last, run
            run = []
        run, last = run + blocks, role
    if run:
        yield last, run


def _says_something(turn: Message) -> bool:
    if turn.role == "system":
        return bool(_joined(turn.content))
    blocks = [block for block in turn.content if not (isinstance(block, TextBlock) and not block.text)]
    if turn.role == "assistant":
        return any(isinstance(block, _OF_ASSISTANT) for block in blocks)
    return not all(isinstance(block, _NOT_OF_USER) for block in blocks)


def _assistant(blocks: list[tuple[Block, str]], dialect: Dialect) -> list[dict[str, Any]]:
    text, thinking, calls = "", "", []
    for block, path in blocks:
        match block:
            case TextBlock():
                text += block.text
            case ThinkingBlock():
                thinking += block.thinking
            case ToolUseBlock():
                function = {"name": block.name, "arguments": json_text(block.input, f"{path}.input")}
                calls.append({"id": block.id, "type": "function", "function": function})
            case DocumentBlock() | SearchResultBlock() | ImageBlock():
                raise RequestError(f"{path}: this kind of block cannot be sent to this model in an assistant turn")
            case _:
                continue
    if not (text or calls):
        return []
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thinking and dialect.reasoning_history:
        message[dialect.reasoning_history] = thinking
    if calls:
        message["tool_calls"] = calls
    return [message]


def _user(blocks: list[tuple[Block, str]]) -> list[dict[str, Any]]:
    """Tool results first (each one a message), then the rest of the turn; pictures of a result go with the rest."""
    results: list[dict[str, Any]] = []
    pictures: list[Part] = []
    rest: list[Part] = []
    for block, path in blocks:
        if isinstance(block, ToolResultBlock):
            parts = [part for at, inner in enumerate(block.content) for part in parts_of(inner, f"{path}.content.{at}")]
            text = "\n".join(part["text"] for part in parts if part["type"] == "text")
            images = [part for part in parts if part["type"] != "text"]
            if images:
                label = f"Shown by the result of tool call {block.tool_use_id}:"
                pictures += [{"type": "text", "text": label}, *images]
            if block.is_error:
                text = f"Error: {text}"
            results.append({"role": "tool", "tool_call_id": block.tool_use_id, "content": text})
        else:
            rest += parts_of(block, path)
    parts = pictures + rest
    if not parts:
        return results
    if all(part["type"] == "text" for part in parts):
        return [*results, {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}]
    return [*results, {"role": "user", "content": parts}]


def _joined(blocks: Iterable[Block]) -> str:
    return "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock) and block.text)
