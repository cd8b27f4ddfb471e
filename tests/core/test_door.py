from __future__ import annotations

from typing import Any

import pytest

from core.config import ServerConfig
from core.door import read_body
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


async def test_a_body_in_parts() -> None:
    assert (
        await read_body(
            (), receiving(part(b"a"), {"type": "http.request"} | {"more_body": True}, part(b"b", more=False)), 2
        )
        == b"ab"
    )
    assert await read_body((), receiving({"type": "http.request"}), 2) == b""


async def test_a_client_that_leaves() -> None:
    assert await read_body((), receiving(part(b"a"), {"type": "http.disconnect"}), 2) is None


@pytest.mark.parametrize(("length", "events"), [(b"3", ()), (b"x", (part(b"ab"), part(b"c"))), (b"0", (part(b"abc"),))])
async def test_a_body_over_the_limit(length: bytes, events: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(RequestError, match="maximum size of 2 bytes") as caught:
        await read_body(((b"content-length", length),), receiving(*events), 2)
    assert caught.value.kind == "too_large"


def test_a_late_one() -> None:
    assert (late_body(1.5).status, late_body(1.5).message) == (
        408,
        "the request's body did not come within 1.5 seconds",
    )
