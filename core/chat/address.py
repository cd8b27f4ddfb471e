"""Where a backend's chat completions are, from the URL an operator wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import httpx

CHAT_PATH: Final = "/chat/completions"
"""What stands behind the root, where a plugin names no path of its own."""

_VERSION: Final = re.compile(r"v\d+[a-z0-9]*", re.IGNORECASE)


def api_root(url: str, path: str = CHAT_PATH) -> httpx.URL:
    """The API's root, e.g. http://host:8000/v1, without a slash at its end.

    `http://host`, `http://host/`, `http://host/v1`, `http://host/v1/`, `http://host/v1/chat/completions` are all one.
    A path gets `/v1` behind it unless a part of it is a version already (`/v1`, `/openai/v1`, `/v1beta/openai`), or it
    leads to a deployment (Azure's `/openai/deployments/NAME`), or names the endpoint: `…/chat/completions` is whole.
    For an endpoint at another `path` the root is the URL as it is, without that path where it ends in it.
    """
    parsed = httpx.URL(url.strip())
    root = _path(parsed)
    end = path.rstrip("/")
    if root.endswith(end):
        root = root.removesuffix(end)
    elif path == CHAT_PATH and not any(part == "deployments" or _VERSION.fullmatch(part) for part in root.split("/")):
        root += "/v1"
    return parsed.copy_with(path=root or "/", fragment=None)


def chat_url(url: str, query: Mapping[str, str] | None = None, path: str = CHAT_PATH) -> httpx.URL:
    """The endpoint's URL, with the query of the written URL and `query` together; `path` is "", or begins with `/`."""
    root = api_root(url, path)
    full = root.copy_with(path=(_path(root) + path) or "/")
    return full.copy_merge_params(dict(query)) if query else full


def _path(url: httpx.URL) -> str:
    """The path as it was written: `url.path` would turn an encoded slash into one."""
    return url.raw_path.decode("ascii").partition("?")[0].rstrip("/")
