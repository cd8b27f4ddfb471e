"""Fields that would change what a request means and that nothing here can honour: refused by name, never ignored.

Null and empty values ask for nothing and pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core import RequestError, Task

REFUSED: Final[Mapping[str, str]] = {
    "container": "there are no containers here; run code and skills on the client's side",
    "mcp_servers": "no MCP server is reached from here; connect to it in the client and send its tools in `tools`",
    "fallbacks": "no other model steps in for the client here; ask the other model with a request of its own",
    "compaction": "conversations are not summarized here; ask for a summary with a message",
    "safeguards": "safeguards are not run here; send the request without `safeguards` and check on the client's side",
}
LOOKED_AT: Final = ("thread", *REFUSED)
"""The fields that are looked at here."""
NOT_COUNTED: Final = ("compaction",)
"""Allowed where tokens are only counted: they do not change the count."""


def refuse_unservable(body: Mapping[str, Any], task: Task) -> None:
    """Raises RequestError for a body that needs what is not here."""
    if body.get("thread") is not None:
        # The tool runners of the SDKs know this code: they send the whole history instead, from here on.
        raise RequestError(
            "thread: no conversation is kept here; send the whole of it in `messages`, without `thread`",
            code="thread_unsupported_request",
        )
    for field, sentence in REFUSED.items():
        if task == "count_tokens" and field in NOT_COUNTED:
            continue
        value = body.get(field)
        # "default" is the provider's own list for its own models: for any other it means none.
        if _asks(value) and not (field == "fallbacks" and value == "default"):
            raise RequestError(f"{field}: {sentence}")


def _asks(value: Any) -> bool:
    """Whether there is anything in a value, however deep."""
    if isinstance(value, dict):
        return any(map(_asks, value.values()))
    return bool(value)
