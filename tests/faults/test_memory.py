"""What a fault leaves behind in the gateway's memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.faults.stage import Stage

LARGE = "up.an event without end, after/stream"
"""A fault for which 64 MiB wait in the gateway."""


def test_nothing_is_kept_of_a_fault(stage: Stage, alone: None) -> None:
    (worker,) = stage.served.workers()
    stage.run(_play(stage, 1))
    before = resident(worker)
    stage.run(_play(stage, 4))
    assert resident(worker) - before < 64_000_000


def resident(process: int) -> int:
    """The memory of a process, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


async def _play(stage: Stage, times: int) -> None:
    for number in range(times):
        async with stage.client() as client:
            await client.ask(f"{LARGE}#{number}", stream=True)
            assert b"event: error" in (await client.answer()).body
            # The last of it goes with the request's task.
            await client.send(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
            await client.answer()
            await asyncio.sleep(0.05)
