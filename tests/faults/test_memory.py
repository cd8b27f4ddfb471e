"""What a fault leaves behind in the gateway's memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.faults.client import Client, body_of, head_of
from tests.faults.stage import Stage

LARGE = "up.an event without end, after/stream#memory"
"""A fault for which 64 MiB wait in the gateway."""


async def _large_answer(client: Client) -> None:
    await client.ask(LARGE, stream=True)
    assert b"event: error" in (await client.answer()).body


async def _large_request(client: Client) -> None:
    body = body_of(LARGE, stream=True, system="x" * 10_000_000, max_tokens="many")
    await client.send(head_of(len(body)) + body)
    assert (await client.answer()).status == 400


async def _times(times: int, stage: Stage, play: Callable[[Client], Awaitable[None]]) -> None:
    for _ in range(times):
        async with stage.client() as client:
            await play(client)
            # The last of it goes with the request's task, which by the next answer has ended.
            await client.send(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
            await client.answer()


@pytest.mark.parametrize("play", [_large_answer, _large_request], ids=["upstream", "client"])
def test_nothing_is_kept_of_a_fault(stage: Stage, alone: None, play: Callable[[Client], Awaitable[None]]) -> None:
    (worker,) = stage.served.workers()
    stage.run(_times(1, stage, play))
    before = resident(worker)
    stage.run(_times(5, stage, play))
    assert resident(worker) - before < 64_000_000


def resident(process: int) -> int:
    """The memory of a process, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])
