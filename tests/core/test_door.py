from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.config import ServerConfig
from core.door import path_of, read_body
from core.errors import RequestError
from core.sink import Event

pytestmark = pytest.mark.anyio


def receiving(*events: dict[str, Any]) -> Any:
    left = list(events)

    async def receive() -> Event:
        return left.pop(0)

    return receive


def part(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


LIMITS = ServerConfig(max_body=2, body_timeout=5.0)


async def test_a_body_in_parts() -> None:
    parts = receiving(part(b"a"), {"type": "http.request", "more_body": True}, part(b"b", more=False))
    assert await read_body((), parts, LIMITS) == b"ab"
    assert await read_body((), receiving({"type": "http.request"}), LIMITS) == b""


async def test_a_client_that_leaves() -> None:
    assert await read_body((), receiving(part(b"a"), {"type": "http.disconnect"}), LIMITS) is None


@pytest.mark.parametrize(("length", "events"), [(b"3", ()), (b"x", (part(b"ab"), part(b"c"))), (b"0", (part(b"abc"),))])
async def test_a_body_over_the_limit(length: bytes, events: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(RequestError, match="maximum size of 2 bytes") as caught:
        await read_body(((b"content-length", length),), receiving(*events), LIMITS)
    assert caught.value.kind == "too_large"


async def never() -> Event:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_late_one() -> None:
    limits = ServerConfig(body_timeout=0.01)
    with pytest.raises(RequestError, match=r"the request's body did not come within 0\.01 seconds") as caught:
        await read_body((), never, limits)
    assert caught.value.status == 408


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v1/messages", "/v1/messages"),
        ("http://h:80/v1/messages", "/v1/messages"),
        ("HTTPS://h/v1//x", "/v1//x"),
        ("http://h", "/"),
        ("/http://h/v1", "/http://h/v1"),
        ("*", "*"),
        ("", ""),
    ],
)
def test_a_target_may_be_a_whole_url(target: str, path: str) -> None:
    assert path_of(target) == path
