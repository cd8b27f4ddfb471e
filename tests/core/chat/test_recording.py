from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest

from core.chat.client import UpstreamClient
from core.chat.recording import RecordedCall, RecordingTransport, ReplayTransport
from core.config import BackendConfig, Secret
from core.errors import UpstreamError

pytestmark = pytest.mark.anyio
BACKEND = BackendConfig("b", (), url="http://up.invalid/v1", key=Secret("sesame-open-1"))
PIECES = (b"data: {", b"}\n\n\xf0\x9f", b"\xa6\x9c")


class Heard:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def sent(self, body: bytes) -> None:
        self.told.append(("sent", body))

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self.told.append(("answered", status, headers.get("x-kind")))

    def read(self, data: bytes) -> None:
        self.told.append(("read", data))

    def ended(self, how: str) -> None:
        self.told.append(("ended", how))


def client(*calls: RecordedCall) -> tuple[UpstreamClient, Heard]:
    heard = Heard()
    return UpstreamClient(BACKEND, RecordingTransport(ReplayTransport(calls), heard)), heard


async def test_bytes_pass_as_they_come_and_are_told() -> None:
    up, heard = client(RecordedCall(b"", PIECES, 200, {"x-kind": "sse"}))
    response = await up.post(b"{}")
    assert [data async for data in response.aiter_raw()] == list(PIECES)
    await response.aclose()
    reads = [("read", piece) for piece in PIECES]
    assert heard.told == [("sent", b"{}"), ("answered", 200, "sse"), *reads, ("ended", "")]


async def test_closing_early_is_told_once() -> None:
    up, heard = client(RecordedCall(b"", PIECES))
    response = await up.post(b"{}")
    reads = response.aiter_raw()
    await anext(reads)
    await reads.aclose()  # type: ignore[attr-defined]
    await response.aclose()
    assert heard.told[-2:] == [("read", PIECES[0]), ("ended", "closed")]


async def test_what_breaks_the_answer_is_told_and_breaks_it_again() -> None:
    up, heard = client(RecordedCall(b"", PIECES[:1], fails="it broke"))
    response = await up.post(b"{}")
    with pytest.raises(httpx.ReadError, match="it broke"):
        [data async for data in response.aiter_raw()]
    assert heard.told[-1] == ("ended", "ReadError: it broke")


async def test_no_answer_at_all_is_told() -> None:
    for calls in ((), (RecordedCall(b"", (), 0),)):
        up, heard = client(*calls)
        with pytest.raises(UpstreamError, match="cannot be reached"):
            await up.post(b"{}")
        assert heard.told[-1][0] == "ended"
        assert heard.told[-1][1].startswith("ConnectError: no ")


async def test_a_refusal_is_recorded_like_an_answer() -> None:
    up, heard = client(RecordedCall(b"", (b'{"error": {"message": "full"}}',), 429))
    with pytest.raises(UpstreamError, match="full"):
        await up.post(b"{}")
    assert heard.told[1:3] == [("answered", 429, None), ("read", b'{"error": {"message": "full"}}')]


async def test_calls_are_answered_in_turn_and_the_last_repeats() -> None:
    up, _ = client(RecordedCall(b"", (b"1",)), RecordedCall(b"", (b"2",)))
    said = [await (await up.post(b"{}")).aread() for _ in range(3)]
    assert said == [b"1", b"2", b"2"]


async def test_a_cancelled_request_is_told() -> None:
    class Stuck(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.sleep_forever()
            raise AssertionError

    heard = Heard()
    with anyio.move_on_after(0):
        await RecordingTransport(Stuck(), heard).handle_async_request(httpx.Request("POST", "http://x", content=b"a"))
    assert [told[0] for told in heard.told] == ["sent", "ended"]
    assert "Cancelled" in heard.told[1][1]


async def test_a_client_can_be_put_through_another_transport() -> None:
    plain = UpstreamClient(BACKEND, ReplayTransport([RecordedCall(b"", (b"x",))]), key_header="x-key")
    heard = Heard()
    other = plain.through(lambda inner: RecordingTransport(inner, heard))
    assert await (await other.post(b"1")).aread() == b"x"
    assert await (await plain.post(b"2")).aread() == b"x"
    assert [told for told in heard.told if told[0] == "sent"] == [("sent", b"1")]
    assert (other.counts, other.http) == (plain.counts, plain.http)
    assert other.secrets == plain.secrets
    assert "sesame-open-1" in other.secrets


async def test_a_body_without_an_async_stream_is_left_alone() -> None:
    class Sync(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=httpx.SyncByteStream())

    response = await RecordingTransport(Sync(), Heard()).handle_async_request(httpx.Request("POST", "http://x"))
    assert type(response.stream) is httpx.SyncByteStream


@pytest.mark.parametrize("status", [200, 503])
async def test_an_answer_that_is_read_already_is_told_once(status: int) -> None:
    for content, reads in ((b'{"error": "no"}', [("read", b'{"error": "no"}')]), (b"", [])):
        heard = Heard()
        answer = httpx.Response(status, content=content)
        transport = RecordingTransport(httpx.MockTransport(lambda _, answer=answer: answer), heard)
        async with httpx.AsyncClient(transport=transport) as http:
            assert (await http.post("http://up.invalid", content=b"{}")).content == content
        assert heard.told == [("sent", b"{}"), ("answered", status, None), *reads, ("ended", "")]
