"""The API's endpoints: which task a path and a method ask for."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

import attrs

from core import HTTPRequest, RequestError, Task

READ: Final = ("GET", "HEAD")
WRITE: Final = ("POST",)


@attrs.frozen
class Endpoint:
    """One endpoint: the task behind it, the methods it takes, and the model that the path names ("" for none)."""

    task: Task
    methods: tuple[str, ...]
    model: str = ""


def find(path: str) -> Endpoint | None:
    """The endpoint at a raw path below the mount, or None; a trailing slash is ignored, a model's id is decoded."""
    path = path.rstrip("/")
    if path == "/messages":
        return Endpoint("message", WRITE)
    if path == "/messages/count_tokens":
        return Endpoint("count_tokens", WRITE)
    if path == "/models":
        return Endpoint("models", READ)
    if path.startswith("/models/"):
        return Endpoint("models", READ, unquote(path.removeprefix("/models/")))
    return None


def resolve(http: HTTPRequest) -> Endpoint:
    """The endpoint a request is for. Raises RequestError `not_found` or `method_not_allowed`."""
    endpoint = find(http.path)
    if endpoint is None:
        raise RequestError(_not_found(http), kind="not_found")
    if http.method not in endpoint.methods:
        allowed = " or ".join(endpoint.methods)
        message = f"{_shown(http)}: method {http.method} is not allowed here, use {allowed}"
        raise RequestError(message, kind="method_not_allowed")
    return endpoint


def _not_found(http: HTTPRequest) -> str:
    mount = http.mount
    if mount.endswith("/v1") and f"{http.path}/".startswith("/v1/"):
        return (
            f"{_shown(http)}: no such endpoint; the path holds /v1 twice: "
            "drop /v1 from the client's base URL, the client adds it"
        )
    return (
        f"{_shown(http)}: no such endpoint; here are POST {mount}/messages, POST {mount}/messages/count_tokens, "
        f"GET {mount}/models and GET {mount}/models/{{id}}"
    )


def _shown(http: HTTPRequest) -> str:
    """The path for a message, short whatever was sent."""
    path = http.mount + http.path
    return path if len(path) <= 200 else f"{path[:200]}…"
