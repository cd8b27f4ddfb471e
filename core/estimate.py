"""How many tokens a text or a request has, by a rule of thumb, for where no engine tells.

Four bytes of UTF-8 are taken for one token: about right for English and code, where a token has three to five letters,
and for Cyrillic, Arabic or Chinese, whose letters have two or three bytes and are a half to a whole token each. Images
and files have a fixed number, turns and tools a small one for what a chat template puts around them. The reasoning of
earlier turns is not counted, for most engines are not shown it again; deferred tools count once they are referenced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import attrs
import orjson

from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    OtherTool,
    Request,
    SearchResultBlock,
    TextBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)

BYTES_PER_TOKEN: Final = 4
IMAGE_TOKENS: Final = 1500
FILE_TOKENS: Final = 3000
FRAME_TOKENS: Final = 4
"""What stands around each turn and each tool."""


@attrs.define(eq=False)
class TokenEstimate:
    """A running estimate: text is added in pieces, however it is cut, and `tokens` is the sum so far."""

    _bytes: int = attrs.field(init=False, default=0)
    _fixed: int = attrs.field(init=False, default=0)

    @property
    def tokens(self) -> int:
        """The tokens of all that was added, rounded up; 0 for nothing."""
        return self._fixed - (-self._bytes // BYTES_PER_TOKEN)

    def add(self, text: str) -> None:
        """Count a piece of text."""
        self._bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

    def add_tokens(self, count: int) -> None:
        """Count something whose tokens are known."""
        self._fixed += count


def estimate_tokens(text: str) -> int:
    """The tokens of a text, at least 1 unless it is empty."""
    total = TokenEstimate()
    total.add(text)
    return total.tokens


def estimate_input_tokens(request: Request) -> int:
    """The tokens of a request's whole prompt: system, tools, turns. Reads each character once; never fails."""
    total = TokenEstimate()
    available: set[str] = set()
    if request.system:
        total.add_tokens(FRAME_TOKENS)
        _add_blocks(request.system, total, available)
    for message in request.messages:
        if message.content:
            total.add_tokens(FRAME_TOKENS)
            _add_blocks(message.content, total, available)
    for tool in request.tools:
        if isinstance(tool, OtherTool):
            _add_json(tool.raw, total)
        elif not tool.defer_loading or tool.name in available:
            total.add_tokens(FRAME_TOKENS)
            total.add(tool.name)
            total.add(tool.description)
            _add_json(tool.input_schema, total)
    if request.output_schema is not None:
        _add_json(request.output_schema, total)
    return total.tokens


def _add_blocks(blocks: Iterable[Block], total: TokenEstimate, available: set[str]) -> None:
    """Count blocks; the tools that they make available are put into the set."""
    for block in blocks:
        match block:
            case TextBlock():
                total.add(block.text)
            case ToolUseBlock():
                total.add_tokens(FRAME_TOKENS)
                total.add(block.name)
                _add_json(block.input, total)
            case ToolResultBlock():
                total.add_tokens(FRAME_TOKENS)
                _add_blocks(block.content, total, available)
            case ToolReferenceBlock():
                available.add(block.tool_name)
                total.add(block.tool_name)
            case ImageBlock():
                total.add_tokens(IMAGE_TOKENS)
            case DocumentBlock():
                _add_document(block, total, available)
            case SearchResultBlock():
                total.add(block.title)
                total.add(block.source)
                _add_blocks(block.content, total, available)
            case OtherBlock():
                _add_json(block.raw, total)


def _add_document(block: DocumentBlock, total: TokenEstimate, available: set[str]) -> None:
    if block.data or block.url or block.file_id:
        total.add_tokens(FILE_TOKENS)
    for text in (block.title, block.context, block.text):
        total.add(text)
    _add_blocks(block.content, total, available)


def _add_json(value: Any, total: TokenEstimate) -> None:
    try:
        total.add(orjson.dumps(value).decode())
    except TypeError:  # what orjson cannot write (depth, lone surrogates) is counted as Python shows it
        total.add(repr(value))
