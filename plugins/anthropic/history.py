"""Thinking of our own that comes back in the history: its text and state out of its signature."""

from __future__ import annotations

import attrs

from core import Block, Message, Request, ThinkingBlock
from plugins.anthropic.seal import Seal


def unsealed(request: Request, seal: Seal) -> Request:
    """The request with what its thinking blocks' signatures carry.

    A signature that is foreign, broken or empty carries nothing: its block stays as it came.
    """
    if ThinkingBlock not in {block.__class__ for message in request.messages for block in message.content}:
        return request
    return attrs.evolve(request, messages=tuple([_unsealed(message, seal) for message in request.messages]))


def _has_thinking(message: Message) -> bool:
    return any(isinstance(block, ThinkingBlock) for block in message.content)


def _unsealed(message: Message, seal: Seal) -> Message:
    if not _has_thinking(message):
        return message
    return attrs.evolve(message, content=tuple([_opened(block, seal) for block in message.content]))


def _opened(block: Block, seal: Seal) -> Block:
    if not isinstance(block, ThinkingBlock) or (sealed := seal.open(block.signature)) is None:
        return block
    return attrs.evolve(block, thinking=block.thinking or sealed.text, state=sealed.state)
