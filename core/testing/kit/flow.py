"""The rules of time: streaming streams, who leaves ends the generation, requests do not wait for each other."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from core.testing.answers import UpstreamAnswer
from core.testing.fold import fold
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import same
from core.testing.kit.patience import waited
from core.testing.kit.rule import Rule, rule
from core.testing.kit.upstream import Client
from core.testing.upstream import MockUpstream
from core.testing.upstream_reply import JSON, SSE, UpstreamReply

BLOCKS: Final = 40
"""Chunks of an answer that must not block."""
IDLE: Final = 0.1
"""Seconds of doing nothing that are too many."""
TRIES: Final = 4
MOST_TRIES: Final = 12
"""As many on a machine that is so busy that mere work waits, too."""
BUSY: Final = 3
"""How many times as long as mere work an answer must wait, for it to be the answer's fault."""


async def _within(bench: Bench, what: str, waiting: Awaitable[Any]) -> Any:
    with bench.patience.within(what):
        return await waiting


@rule()
def the_first_text_does_not_wait_for_the_end(bench: Bench) -> None:
    """A streaming client has the first words while the upstream still writes."""
    field = bench.facts.reasoning_field
    names = ["content", *([field] if field else [])]

    async def run(name: str) -> None:
        gate = anyio.Event()
        first = bench.engine.stream([piece({"role": "assistant"}), piece({name: "First words"})], done=False)
        last = bench.engine.stream([piece({"content": "."}), piece({}, "stop")], done=True)
        gateway = bench.assembly().gateway(bench.upstream(lambda _: [first, gate, last]))
        client = Client(gateway)
        async with gateway.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(_asking, client)
            try:
                what = "no text reached the client before the upstream ended,"
                await _within(bench, what, client.has(b"First words"))
            finally:
                gate.set()

    for name in names:
        bench.run(lambda name=name: run(name))  # type: ignore[misc]


async def _asking(client: Client) -> None:
    await client.ask(stream=True)


async def _leaving(bench: Bench, reply: UpstreamReply, ready: Callable[[Client, MockUpstream], Awaitable[Any]]) -> None:
    async with MockUpstream(reply) as upstream:
        gateway = bench.assembly({"url": upstream.url}).gateway()
        client = Client(gateway)
        async with gateway.running():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_asking, client)
                await _within(bench, "the request did not get under way", ready(client, upstream))
                tasks.cancel_scope.cancel()
            exchange = upstream.exchanges[0]
            await _within(bench, "the client left, and the upstream call was not closed", exchange.peer_closed())


@rule()
def a_client_that_leaves_ends_the_call(bench: Bench) -> None:
    """When the client leaves amid the answer, the connection to the upstream is closed, so that it stops generating."""
    first = bench.engine.stream([piece({"content": "First words"})], done=False)

    async def run() -> None:
        reply = UpstreamReply(first, content_type=SSE, hold=anyio.Event())
        await _leaving(bench, reply, lambda client, _: client.has(b"First words"))

    bench.run(run)


@rule()
def a_client_that_leaves_early_ends_the_call(bench: Bench) -> None:
    """When the client leaves before the upstream says a word, the connection is closed, too."""

    async def run() -> None:
        reply = UpstreamReply(content_type=SSE, hold_head=anyio.Event())
        await _leaving(bench, reply, lambda _, upstream: upstream.exchange())

    bench.run(run)


@rule()
def connections_are_kept_and_none_is_left(bench: Bench) -> None:
    """Requests one after another, refused ones among them, go over one connection."""
    body, headers = bench.engine.failed({"message": "no"}, 429)
    refused = UpstreamReply(body, 429, headers=headers)
    whole = bench.engine.answer(text="One.")

    async def run() -> None:
        async with MockUpstream(_step(bench, whole), _step(bench, whole), refused, _step(bench, whole)) as upstream:
            gateway = bench.assembly({"url": upstream.url}).gateway()
            async with gateway.running():
                for stream in (True, False, True, True, False):
                    await _within(bench, "a request did not end", Client(gateway).ask(stream=stream))
            same("5 requests", "number of requests at the upstream", len(upstream.exchanges), 5)
            number = upstream.connections
            need(number <= 2, f"5 requests in a row took {number} connections: answers are not read to their end")

    bench.run(run)


def _step(bench: Bench, answer: UpstreamAnswer) -> Callable[[Any], UpstreamReply]:
    def step(exchange: Any) -> UpstreamReply:
        stream = bool(bench.engine.usual(exchange.json).get("stream"))
        return UpstreamReply(bench.engine.wire(answer, stream=stream), content_type=SSE if stream else JSON)

    return step


@rule()
def requests_at_once_get_their_own_answers(bench: Bench) -> None:
    """Two requests at once on one gateway do not wait for each other, and each gets its own answer."""

    async def run() -> None:
        both, upstream = anyio.Event(), bench.upstream(lambda body: [_echo(bench, body)])

        async def hold() -> None:
            if len(upstream.asked) == 2:
                both.set()
            await both.wait()

        upstream.hold = hold
        gateway = bench.assembly().gateway(upstream)
        async with gateway.running():
            clients = [Client(gateway), Client(gateway)]
            await _within(bench, "two requests at once did not end", _both(clients))
        for name, client in zip(("first", "second"), clients, strict=True):
            need(client.status == 200, f"two requests at once: the {name} failed: {client.body[:200]!r}")
            text = "".join(block.get("text", "") for block in fold(client.body).message["content"])
            same("two requests at once", f"answer to the {name}", text, f"You are {name}.")

    bench.run(run)


async def _both(clients: list[Client]) -> None:
    async with anyio.create_task_group() as tasks:
        for name, client in zip(("first", "second"), clients, strict=True):
            tasks.start_soon(_named, client, name)


async def _named(client: Client, name: str) -> None:
    await client.ask(stream=True, messages=[{"role": "user", "content": f"I am {name}."}])


def _echo(bench: Bench, body: Any) -> bytes:
    name = "first" if "I am first." in str(body) else "second"
    return bench.engine.wire(bench.engine.answer(text=f"You are {name}."), stream=bool(body.get("stream")))


@rule()
def nothing_blocks(bench: Bench) -> None:
    """While an answer is made its thread never sleeps: other requests would stand still with it."""
    words = [piece({"content": f"{number} "}) for number in range(BLOCKS)]
    reads = [*(bench.engine.stream([word], done=False) for word in words), bench.engine.stream([piece({}, "stop")])]
    # Anything may keep a busy machine from going on, once; what the plugin waits for it waits for each time.
    waits: list[float] = []
    for _ in range(MOST_TRIES):
        waits.append(waited(lambda: bench.ask(bench.upstream(lambda _: reads), stream=True)))
        if waits[-1] < IDLE:
            return
        if len(waits) >= TRIES and min(waits) > BUSY * waited(_work):
            break
    told = f"an answer of {BLOCKS} chunks that are all there keeps its thread waiting for {min(waits):.2g} seconds"
    raise AssertionError(told)


def _work() -> None:
    """As much as some answers take, without anything to wait for."""
    begun = time.thread_time()
    while time.thread_time() - begun < IDLE:
        pass


RULES: Final[tuple[Rule, ...]] = (
    the_first_text_does_not_wait_for_the_end,
    a_client_that_leaves_ends_the_call,
    a_client_that_leaves_early_ends_the_call,
    connections_are_kept_and_none_is_left,
    requests_at_once_get_their_own_answers,
    nothing_blocks,
)
