"""How many tokens a request's prompt has, by the engine's own tokenizer. Counting never fails: else it is estimated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import httpx

from core.chat.address import CHAT_PATH, chat_url
from core.chat.client import UpstreamClient
from core.chat.text import dumps
from core.errors import GatewayError
from core.estimate import estimate_input_tokens
from core.request import Request

Way = Literal["tokenize", "input_tokens", "chat_tokenize"]
"""vLLM's and SGLang's way, llama.cpp's, TGI's."""

_VERSION: Final = re.compile(r"v\d+[a-z0-9]*", re.IGNORECASE)
_TEMPLATED: Final = ("messages", "tools", "chat_template_kwargs", "add_generation_prompt", "continue_final_message")
"""The fields of a chat body that decide what the template makes of it."""

_COUNT: Final[Mapping[Way, str]] = {
    "tokenize": "count",
    "input_tokens": "input_tokens",
    "chat_tokenize": "tokenize_response",
}
"""The field of an answer that holds the count, or (TGI) the tokens."""


async def count_prompt(
    request: Request,
    client: UpstreamClient,
    *,
    way: Way | Literal[""],
    body: Callable[[], dict[str, Any]],
    url: str = "",
) -> int:
    """The tokens of the prompt: the engine's count of the `body` that a message would send, or an estimate.

    `url` replaces the backend's. Whatever goes wrong, the body that this dialect cannot say included, is no error.
    """
    base = url or client.backend.url
    found = await _asked(client, base, way, body) if way and base else None
    return found or estimate_input_tokens(request)


def count_url(way: Way, base: str, query: Mapping[str, str] | None = None, endpoint: str = CHAT_PATH) -> httpx.URL:
    """Where the engine counts: below the API's root for llama.cpp, else beside it, at the server's root."""
    chat = chat_url(base, query, endpoint)
    path = chat.raw_path.decode("ascii").partition("?")[0]
    if way == "input_tokens":
        return chat.copy_with(path=f"{path}/input_tokens")
    parts = path.removesuffix(endpoint).split("/")
    above = next((at for at, part in enumerate(parts) if _VERSION.fullmatch(part)), len(parts))
    return chat.copy_with(path="/".join([*parts[:above], way]))


def count_body(way: Way, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine is asked, from the chat body: the same messages, tools and template."""
    if way != "tokenize":
        return {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    asked = {key: body[key] for key in ("model", *_TEMPLATED) if key in body}
    if effort := body.get("reasoning_effort"):
        # Beside chat no effort is read; in chat it goes to the template as these two (vLLM 0.32).
        told = {"reasoning_effort": effort, "enable_thinking": effort != "none"}
        asked["chat_template_kwargs"] = told | dict(asked.get("chat_template_kwargs") or {})
    return {"add_generation_prompt": True, **asked}


def count_in(way: Way, answer: Any) -> int | None:
    """The count in an engine's answer, or None when there is none."""
    found = answer.get(_COUNT[way]) if isinstance(answer, dict) else None
    if isinstance(found, dict):
        found = found.get("tokens")
    if isinstance(found, list):
        found = len(found)
    counted = isinstance(found, int) and not isinstance(found, bool) and found > 0
    return found if counted else None


async def _asked(client: UpstreamClient, base: str, way: Way, body: Callable[[], dict[str, Any]]) -> int | None:
    try:
        data = dumps(count_body(way, body()))
    except (GatewayError, ValueError):
        return None
    target = count_url(way, base, client.backend.query, client.path)

    async def ask() -> int | None:
        try:
            return count_in(way, await client.ask(target, data))
        except GatewayError:
            return None

    return await client.counts.get((str(target), data), ask)
