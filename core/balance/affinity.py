"""The stable key of a conversation: with it its requests go to the backend that has its prefix in the cache."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

from core.request import Block, DocumentBlock, HTTPRequest, ImageBlock, Request, SearchResultBlock, TextBlock

HEADER: Final = "x-claude-code-session-id"
"""What Claude Code names its session by."""
_MARK: Final = "_session_"
_ENOUGH: Final = 4096
"""Characters of a file that tell it from others, together with its length."""


def session_key(http: HTTPRequest, request: Request) -> str:
    """Claude Code's session, else the user, else a hash of what a prefix cache sees first; "" for an empty request.

    `request.user_id` is read as the session where it holds one: as JSON with `session_id`, or behind `_session_`.
    """
    return http.header(HEADER) or _session_in(request.user_id) or _prefix(request)


def _session_in(user: str) -> str:
    if user.startswith("{"):
        try:
            told: Any = orjson.loads(user)
        except ValueError:
            return user
        session = told.get("session_id")
        return session if isinstance(session, str) and session else user
    return user.rpartition(_MARK)[2] or user


def _prefix(request: Request) -> str:
    first = next((message for message in request.messages if message.role == "user"), None)
    if first is None and not request.system and not request.tools:
        return ""
    digest = blake2b(digest_size=16)
    parts = [*(block.text for block in request.system), "", *(tool.name for tool in request.tools), ""]
    for text in (*parts, *(_said(block) for block in (first.content if first else ()))):
        part = text.encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8) + part)
    return digest.hexdigest()


def _said(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ImageBlock | DocumentBlock):
        text = block.text if isinstance(block, DocumentBlock) else ""
        return f"{block.url}{block.file_id}{len(block.data)}{block.data[:_ENOUGH]}{text}"
    return block.title if isinstance(block, SearchResultBlock) else ""
