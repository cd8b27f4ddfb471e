"""The same over HTTP/2, where one connection carries many requests and each has a window of its own."""

from __future__ import annotations

import asyncio
from typing import Self

import attrs
import h2.config
import h2.connection
import h2.events

from tests.faults.client import Client, body_of
from tests.faults.reader import read_stream
from tests.faults.stage import CLIENT, Stage
from tests.faults.test_clients import gone, now


@attrs.define(eq=False)
class HTTP2:
    """A client over HTTP/2; it opens its windows again only where it is told to."""

    client: Client
    h2: h2.connection.H2Connection = attrs.field(
        factory=lambda: h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    )
    bodies: dict[int, bytes] = attrs.field(factory=dict)
    ended: dict[int, str] = attrs.field(factory=dict)

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        self.h2.initiate_connection()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.leave()

    async def flush(self) -> None:
        await self.client.send(self.h2.data_to_send())

    async def ask(self, model: str, *, stream: bool) -> int:
        number = self.h2.get_next_available_stream_id()
        named = [(":method", "POST"), (":path", "/v1/messages"), (":authority", "h"), (":scheme", "http")]
        self.h2.send_headers(number, named)
        self.h2.send_data(number, body_of(model, stream=stream), end_stream=True)
        self.bodies[number] = b""
        await self.flush()
        return number

    async def read(self, *, take: bool = True) -> None:
        """Whatever comes next."""
        async with asyncio.timeout(15):
            data = await self.client.reader.read(65536)
        assert data, "the connection has ended"
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.bodies[event.stream_id] += event.data
                if take:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                self.ended[event.stream_id] = type(event).__name__
        await self.flush()


async def test_an_error_in_the_middle_over_http2(stage: Stage) -> None:
    async with HTTP2(stage.client()) as client:
        first = await client.ask("up.reset, after/stream#http2", stream=True)
        second = await client.ask("up.good", stream=True)
        while len(client.ended) < 2:
            await client.read()
    assert set(client.ended.values()) == {"StreamEnded"}
    assert read_stream(client.bodies[first]).error is not None
    assert read_stream(client.bodies[second]).error is None


async def test_one_that_resets_its_request_ends_its_generation(stage: Stage) -> None:
    async with HTTP2(stage.client()) as client:
        number = await client.ask("up.begun#http2", stream=True)
        exchange = await stage.upstream.exchange("up.begun#http2")
        while b"text_delta" not in client.bodies[number]:
            await client.read()
        client.h2.reset_stream(number)
        await client.flush()
        await gone(exchange, now())
        other = await client.ask("up.good", stream=True)
        while other not in client.ended:
            await client.read()
        assert read_stream(client.bodies[other]).error is None


async def test_one_that_opens_no_window_is_ended(stage: Stage) -> None:
    """It stalls one request alone: the others on its connection go on."""
    async with HTTP2(stage.client()) as client:
        client.h2.increment_flow_control_window(1_000_000)
        began = now()
        stalled = await client.ask("up.stalled flood#http2", stream=True)
        exchange = await stage.upstream.exchange("up.stalled flood#http2")
        reading = asyncio.create_task(_read_on(client))
        try:
            await gone(exchange, began, CLIENT + 3)
            assert exchange.ended_at - began > 0.9 * CLIENT
        finally:
            reading.cancel()
            await asyncio.wait({reading})
        other = await client.ask("up.good", stream=True)
        while other not in client.ended:
            await client.read(take=False)
        assert read_stream(client.bodies[other]).error is None
    assert client.ended.get(stalled) != "StreamEnded"


async def _read_on(client: HTTP2) -> None:
    while True:
        await client.read(take=False)
