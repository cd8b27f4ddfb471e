from __future__ import annotations

import pytest

from core import Config
from core.config import BackendConfig
from plugins.tracing.upstreams import upstreams


@pytest.mark.parametrize(
    ("plugin", "url", "found"),
    [
        ("vllm", "http://10.0.0.1:8000/v1", {"server.address": "10.0.0.1", "server.port": 8000}),
        ("mistral", "https://api.example.com", {"server.address": "api.example.com", "server.port": 443}),
        ("vllm", "http://[::1]/v1", {"server.address": "::1", "server.port": 80}),
        ("demo", "", {}),
        ("vllm", "http://host:port", {"server.address": "host"}),
    ],
)
def test_what_is_told_of_a_backend(plugin: str, url: str, found: dict[str, str | int]) -> None:
    config = Config("f", (), {"b": BackendConfig("b", (plugin,), url=url)})
    provider = {"mistral": "mistral_ai"}.get(plugin, plugin)
    assert upstreams(config) == {"b": {"gen_ai.provider.name": provider, **found}}
