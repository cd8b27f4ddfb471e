from __future__ import annotations

from typing import Any

import httpx
import pytest

from core import Model, UpstreamError
from core.chat import UpstreamClient
from core.chat.listing import served_models
from core.config import BackendConfig, Secret

pytestmark = pytest.mark.anyio


def client(answer: Any, status: int = 200, **more: Any) -> tuple[UpstreamClient, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return (
            httpx.Response(status, content=answer) if isinstance(answer, bytes) else httpx.Response(status, json=answer)
        )

    backend = BackendConfig("b", ("p",), **{"url": "http://up/v1/", "key": Secret("k"), **more})
    return UpstreamClient(backend, httpx.MockTransport(reply)), seen


async def test_the_list_with_each_engines_window() -> None:
    data = [
        {"id": "vllm", "created": 1700000000, "max_model_len": 4096},
        {"id": "llama", "meta": {"n_ctx": 8192}},
        {"id": "openrouter/x", "context_length": 200000},
        {"id": "plain", "created": None},
        {"no": "id"},
        "odd",
    ]
    asked, seen = client({"object": "list", "data": data}, query={"a": "b"})
    assert await served_models(asked) == [
        Model("vllm", created=1700000000, context=4096),
        Model("llama", context=8192),
        Model("openrouter/x", context=200000),
        Model("plain"),
    ]
    (request,) = seen
    assert (str(request.url), request.headers["authorization"]) == ("http://up/v1/models?a=b", "Bearer k")


async def test_the_list_stands_beside_another_endpoint() -> None:
    asked, seen = client({"data": []}, url="http://up/base/say")
    asked.path = "/say"
    assert await served_models(asked) == []
    assert str(seen[0].url) == "http://up/base/models"


async def test_a_backend_without_an_address_lists_none() -> None:
    asked, seen = client({}, url="")
    assert (await served_models(asked), seen) == ([], [])


@pytest.mark.parametrize("answer", [b"<html>", {"data": []}, {"data": None}, {}, [], httpx.ConnectError("refused")])
async def test_no_list(answer: Any) -> None:
    asked, _ = client(answer)
    if isinstance(answer, bytes | Exception):
        with pytest.raises(UpstreamError):
            await served_models(asked)
    else:
        assert await served_models(asked) == []


async def test_a_refusal_is_an_error() -> None:
    asked, _ = client({"error": "no"}, 401)
    with pytest.raises(UpstreamError, match="answered 401"):
        await served_models(asked)
