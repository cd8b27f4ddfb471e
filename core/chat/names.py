"""Tool names as an engine takes them: a name that is too long or has other characters goes under a short alias."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from core.chat.dialect import Dialect
from core.request import Request, ToolUseBlock

_FITTING: Final = re.compile(r"[a-zA-Z0-9_-]+")
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_-]+")


def alias(name: str, limit: int) -> str:
    """The name itself when it is at most `limit` characters of a-z, A-Z, 0-9, _ and -; else an alias that is.

    The same name has the same alias always: the beginning of the name, as far as it can be kept, and a hash of it.
    """
    if len(name) <= limit and _FITTING.fullmatch(name):
        return name
    digest = "_" + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    head = _OTHER.sub("_", name)[: max(0, limit - len(digest))]
    return head + digest[: max(1, limit)]


def restorer(request: Request, dialect: Dialect) -> dict[str, str]:
    """The client's name of each tool that this dialect has under an alias, by alias; {} when there is none."""
    found = {}
    for name in dict.fromkeys(_names(request)):
        short = alias(name, dialect.tool_name_limit)
        if short != name:
            found[short] = name
    return found


def _names(request: Request) -> Iterator[str]:
    """Names a model may call: of tools, and of calls in the history, which models repeat."""
    for tool in request.tools:
        yield tool.name
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield block.name
