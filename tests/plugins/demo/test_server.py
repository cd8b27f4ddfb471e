from typing import Any

import httpx
import orjson
import pytest

from plugins.demo.engine import answer
from plugins.demo.server import Server, app

pytestmark = pytest.mark.anyio

BODY = {"messages": [{"role": "user", "content": "Count to 4"}]}


async def ask(method: str, path: str, body: Any = None, *, server: Server = app) -> httpx.Response:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="http://demo") as client:
        return await client.request(method, path, content=content)


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/chat/completions", "/deep/er/v1/chat/completions/"])
async def test_a_completion(path: str) -> None:
    response = await ask("POST", path, BODY)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json() == answer(BODY).objects[0]


@pytest.mark.parametrize("delay", [0.0, 0.0001])
async def test_a_stream(delay: float) -> None:
    body = BODY | {"stream": True}
    response = await ask("POST", "/v1/chat/completions", body, server=Server(delay))
    assert response.headers["content-type"] == "text/event-stream"
    *events, end = response.text.removesuffix("\n\n").split("\n\n")
    assert [orjson.loads(event.removeprefix("data: ")) for event in events] == answer(body).objects
    assert end == "data: [DONE]"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/chat/completions", {"messages": []}, 400),
        ("GET", "/v1/chat/completions", None, 405),
        ("POST", "/v1/embeddings", {}, 404),
    ],
)
async def test_refusals(method: str, path: str, body: Any, status: int) -> None:
    response = await ask(method, path, body)
    assert response.status_code == status
    assert response.json()["error"]["message"]


async def test_models_and_health() -> None:
    assert [model["id"] for model in (await ask("GET", "/v1/models")).json()["data"]] == ["demo"]
    assert (await ask("GET", "/health")).json() == {"status": "ok"}


async def test_lifespan() -> None:
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_client_that_leaves_before_its_body_has_come() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": "/v1/chat/completions"}, receive, send)
    assert sent[0]["status"] == 400
