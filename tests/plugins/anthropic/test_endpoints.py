from __future__ import annotations

import pytest

from core import HTTPRequest, RequestError
from plugins.anthropic.endpoints import READ, WRITE, Endpoint, find, resolve


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/messages", Endpoint("message", WRITE)),
        ("/messages/", Endpoint("message", WRITE)),
        ("/messages/count_tokens", Endpoint("count_tokens", WRITE)),
        ("/models", Endpoint("models", READ)),
        ("/models/", Endpoint("models", READ)),
        ("/models/a%2Fb%3A1", Endpoint("models", READ, "a/b:1")),
        ("/models/a/b", Endpoint("models", READ, "a/b")),
        ("", None),
        ("/", None),
        ("/message", None),
        ("/messages/batches", None),
        ("/messages%2F", None),
    ],
)
def test_paths(path: str, endpoint: Endpoint | None) -> None:
    assert find(path) == endpoint


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_models_are_read(method: str) -> None:
    assert resolve(HTTPRequest(method, "/models")).task == "models"


def test_an_unknown_path_is_named_with_what_there_is() -> None:
    with pytest.raises(RequestError) as caught:
        resolve(HTTPRequest("POST", "/complete", mount="/llm/v1"))
    assert caught.value.status == 404
    assert caught.value.message.startswith("/llm/v1/complete: no such endpoint")
    assert "POST /llm/v1/messages/count_tokens" in caught.value.message


@pytest.mark.parametrize("path", ["/v1/messages", "/v1"])
def test_a_doubled_v1_gets_the_remedy(path: str) -> None:
    with pytest.raises(RequestError, match="drop /v1 from the client's base URL") as caught:
        resolve(HTTPRequest("POST", path, mount="/v1"))
    assert caught.value.kind == "not_found"


def test_a_long_path_is_not_told_in_full() -> None:
    with pytest.raises(RequestError) as caught:
        resolve(HTTPRequest("GET", "/" + "x" * 9000))
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(("method", "path"), [("GET", "/messages"), ("POST", "/models/x"), ("PUT", "/messages")])
def test_a_wrong_method_is_told_the_right_one(method: str, path: str) -> None:
    with pytest.raises(RequestError, match=f"method {method} is not allowed here, use") as caught:
        resolve(HTTPRequest(method, path))
    assert caught.value.status == 405
