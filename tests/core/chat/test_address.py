from __future__ import annotations

import pytest

from core.chat.address import api_root, chat_url


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://host", "http://host/v1"),
        ("http://host/", "http://host/v1"),
        ("http://host/v1", "http://host/v1"),
        ("http://host/v1/", "http://host/v1"),
        ("http://host/v1/chat/completions", "http://host/v1"),
        ("http://host/v1/chat/completions/", "http://host/v1"),
        ("http://host:8000", "http://host:8000/v1"),
        ("http://host:80/v1", "http://host/v1"),
        ("HTTPS://Host:443/V1", "https://host/V1"),
        (" http://host ", "http://host/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("http://[2001:db8::1]/v1", "http://[2001:db8::1]/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("https://host/api", "https://host/api/v1"),
        ("https://host/api/", "https://host/api/v1"),
        ("https://host/api/v1", "https://host/api/v1"),
        ("https://host/openai/v1", "https://host/openai/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
        ("https://host/api/paas/v4", "https://host/api/paas/v4"),
        ("https://host/team%2Fa/v1", "https://host/team%2Fa/v1"),
        ("https://host/a b", "https://host/a%20b/v1"),
        ("https://host/vllm", "https://host/vllm/v1"),
        ("http://host/v1#part", "http://host/v1"),
        ("http://user:pass@host:1/v1", "http://user:pass@host:1/v1"),
        ("http://host?key=1", "http://host/v1?key=1"),
        ("https://host/openai/deployments/gpt/chat/completions", "https://host/openai/deployments/gpt"),
        ("https://host/openai/deployments/gpt", "https://host/openai/deployments/gpt"),
        ("https://host/openai/deployments/gpt/?api-version=1", "https://host/openai/deployments/gpt?api-version=1"),
        ("https://host/openai/mydeployments", "https://host/openai/mydeployments/v1"),
        ("http://host/chat/completions", "http://host/"),
    ],
)
def test_every_way_to_write_it(url: str, root: str) -> None:
    assert str(api_root(url)) == root


@pytest.mark.parametrize(
    ("url", "query", "full"),
    [
        ("http://host", {}, "http://host/v1/chat/completions"),
        ("http://host/v1/", {}, "http://host/v1/chat/completions"),
        ("http://host/v1/chat/completions", {}, "http://host/v1/chat/completions"),
        ("http://host/chat/completions", {}, "http://host/chat/completions"),
        ("http://host/v1?a=1", {}, "http://host/v1/chat/completions?a=1"),
        ("http://host/v1?a=1", {"b": "2 3"}, "http://host/v1/chat/completions?a=1&b=2+3"),
        ("http://host/v1?a=1", {"a": "2"}, "http://host/v1/chat/completions?a=2"),
        (
            "https://host/openai/deployments/gpt/chat/completions?api-version=2026-10-01",
            {"x": "y"},
            "https://host/openai/deployments/gpt/chat/completions?api-version=2026-10-01&x=y",
        ),
        (
            "https://host/openai/deployments/gpt",
            {"api-version": "2024-10-21"},
            "https://host/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        ),
        ("http://[::1]:8000/team%2Fa", {"a": "b"}, "http://[::1]:8000/team%2Fa/v1/chat/completions?a=b"),
    ],
)
def test_the_endpoint(url: str, query: dict[str, str], full: str) -> None:
    assert str(chat_url(url, query)) == full
    assert str(chat_url(str(chat_url(url)), query)) == full


@pytest.mark.parametrize(
    ("url", "path", "full"),
    [
        ("http://host", "/v2/complete-chat", "http://host/v2/complete-chat"),
        ("http://host/base/?a=1", "/v2/complete-chat", "http://host/base/v2/complete-chat?a=1"),
        ("http://host/v2/complete-chat", "/v2/complete-chat", "http://host/v2/complete-chat"),
        ("http://host/api", "/say/", "http://host/api/say/"),
        ("http://host/api/say", "/say/", "http://host/api/say/"),
        ("http://host/all/of/it", "", "http://host/all/of/it"),
        ("http://host", "", "http://host/"),
    ],
)
def test_another_endpoint_stands_behind_the_url_as_it_is(url: str, path: str, full: str) -> None:
    assert str(chat_url(url, path=path)) == full
    assert str(chat_url(full, path=path)) == full


def test_the_root_of_another_endpoint() -> None:
    assert str(api_root("http://host/base/say", "/say")) == "http://host/base"
    assert str(api_root("http://host/base", "/say")) == "http://host/base"


def test_no_query_at_all() -> None:
    assert str(chat_url("http://host")) == "http://host/v1/chat/completions"
