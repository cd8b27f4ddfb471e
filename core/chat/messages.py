"""The conversation: canonical messages to chat-completions messages. Pure, and stable byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    Request,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)

Part = dict[str, Any]

_REMINDER: Final = "<system-reminder>\n{}\n</system-reminder>"


def chat_messages(request: Request, dialect: Dialect) -> list[dict[str, Any]]:
    """The `messages` of the body: the system prompt, then the turns, neighbours of one role merged."""
    out: list[dict[str, Any]] = []
    system = [block.text for block in request.system]
    turns = request.messages
    if dialect.late_system == "hoist":
        system += [_joined(turn.content) for turn in turns if turn.role == "system"]
        turns = tuple(turn for turn in turns if turn.role != "system")
    if text := "\n\n".join(filter(None, system)):
        out.append({"role": dialect.system_role, "content": text})
    for role, blocks in _runs(turns, keep_system=dialect.late_system == "keep"):
        if role == "assistant":
            out += _assistant(blocks, dialect)
        elif role == "system":
            out.append({"role": dialect.system_role, "content": _joined(blocks)})
        else:
            out += _user(blocks)
    return out


def _runs(turns: Iterable[Message], *, keep_system: bool) -> Iterator[tuple[str, list[tuple[Block, str]]]]:
    """Runs of one role, each block with its path; a late system turn is folded into the user's run unless kept."""
    run: list[tuple[Block, str]] = []
    last = ""
    for number, turn in enumerate(turns):
        role: str = turn.role
        blocks = [(block, f"messages.{number}.content.{at}") for at, block in enumerate(turn.content)]
        if role == "system" and not keep_system:
            role = "user"
            blocks = [(TextBlock(_REMINDER.format(_joined(turn.content))), path) for _, path in blocks[:1]]
        if role != last and run:
            yield last, run
            run = []
        run, last = run + blocks, role
    if run:
        yield last, run


def _assistant(blocks: list[tuple[Block, str]], dialect: Dialect) -> list[dict[str, Any]]:
    text, thinking, calls = "", "", []
    for block, path in blocks:
        match block:
            case TextBlock():
                text += block.text
            case ThinkingBlock():
                thinking += block.thinking
            case ToolUseBlock():
                arguments = orjson.dumps(block.input).decode()
                calls.append(
                    {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}
                )
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
            parts = [part for at, inner in enumerate(block.content) for part in _parts(inner, f"{path}.content.{at}")]
            text = "\n".join(part["text"] for part in parts if part["type"] == "text")
            images = [part for part in parts if part["type"] != "text"]
            if images:
                label = f"Shown by the result of tool call {block.tool_use_id}:"
                pictures += [{"type": "text", "text": label}, *images]
            if block.is_error:
                text = f"Error: {text}"
            results.append({"role": "tool", "tool_call_id": block.tool_use_id, "content": text})
        else:
            rest += _parts(block, path)
    parts = pictures + rest
    if not parts:
        return results
    if all(part["type"] == "text" for part in parts):
        return [*results, {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}]
    return [*results, {"role": "user", "content": parts}]


def _parts(block: Block, path: str) -> list[Part]:
    match block:
        case TextBlock():
            return [{"type": "text", "text": block.text}] if block.text else []
        case ImageBlock(file_id=file_id) if file_id:
            raise RequestError(f"{path}.source: files by id are not kept here; send the image as base64")
        case ImageBlock():
            url = block.url or f"data:{block.media_type};base64,{block.data}"
            return [{"type": "image_url", "image_url": {"url": url}}]
        case DocumentBlock():
            return _document(block, path)
        case SearchResultBlock():
            body = "\n".join(text.text for text in block.content)
            return [{"type": "text", "text": f"[{block.title}] ({block.source})\n{body}"}]
        case ToolReferenceBlock():
            return [{"type": "text", "text": f"Tool {block.tool_name} is now available."}]
        case OtherBlock():
            return [{"type": "text", "text": orjson.dumps(block.raw).decode()}]
        case _:
            return []


def _document(block: DocumentBlock, path: str) -> list[Part]:
    if block.data or block.url or block.file_id:
        kind = block.media_type or "a document by reference"
        raise RequestError(f"{path}.source: {kind} cannot be read by this model; send the document as text")
    head = "\n".join(filter(None, (block.title, block.context)))
    inner = [part for at, item in enumerate(block.content) for part in _parts(item, f"{path}.source.content.{at}")]
    parts = [{"type": "text", "text": text} for text in (head, block.text) if text]
    return parts + inner


def _joined(blocks: Iterable[Block | tuple[Block, str]]) -> str:
    plain = (item[0] if isinstance(item, tuple) else item for item in blocks)
    return "\n\n".join(block.text for block in plain if isinstance(block, TextBlock) and block.text)
