"""What a span tells of a backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from core import Config

PROVIDERS: Final[Mapping[str, str]] = {
    "azure": "azure.ai.openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
}
"""The conventions' names of providers (gen_ai.provider.name) where they are not those of our plugins."""


def upstreams(config: Config) -> dict[str, dict[str, str | int]]:
    """The attributes of each backend, by its name: provider, and address and port where there are such."""
    found: dict[str, dict[str, str | int]] = {}
    for name, backend in config.backends.items():
        engine = backend.plugins[0] if backend.plugins else ""
        attributes: dict[str, str | int] = {"gen_ai.provider.name": PROVIDERS.get(engine, engine)}
        try:
            url = urlsplit(backend.url)
            if url.hostname:
                attributes["server.address"] = url.hostname
                attributes["server.port"] = url.port or (443 if url.scheme == "https" else 80)
        except ValueError:
            pass  # the backend's own check says what is wrong with it
        found[name] = attributes
    return found
