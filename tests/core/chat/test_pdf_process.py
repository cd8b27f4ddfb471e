from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys

import anyio
import pytest
from anyio import abc

from core.chat.pdf import PDFError
from core.chat.pdf_process import ReaderError, read_pdf
from tests.core.chat.pdfs import bomb, pdf_of

pytestmark = pytest.mark.anyio

SLOW = bomb(400_000, 8)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[abc.Process]:
    """The processes that were started."""
    processes: list[abc.Process] = []
    real = anyio.open_process

    async def start(*arguments: object, **named: object) -> abc.Process:
        processes.append(await real(*arguments, **named))  # type: ignore[arg-type]
        return processes[-1]

    monkeypatch.setattr(anyio, "open_process", start)
    return processes


async def test_a_text_and_a_refusal(started: list[abc.Process]) -> None:
    assert await read_pdf(pdf_of("caf\xe9", "two")) == "caf\xe9\n\ntwo"
    with pytest.raises(PDFError, match=r"^cannot be read as a PDF$"):
        await read_pdf(b"x" * 1_000_000)
    assert [process.returncode for process in started] == [0, 0]


async def test_a_slow_one_is_refused_while_others_go_on(started: list[abc.Process]) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        with pytest.raises(PDFError, match=r"^takes more than 1 seconds to be read$"):
            await read_pdf(SLOW, seconds=1)
        group.cancel_scope.cancel()
    assert ticks > 20
    assert started[0].returncode is not None


async def test_it_is_ended_when_the_client_leaves(started: list[abc.Process]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(read_pdf, SLOW)
        while not started:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_none_is_forgotten_when_the_client_leaves_while_it_starts(steps: int) -> None:
    async def leave() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(read_pdf, SLOW)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    anyio.run(leave)
    gc.collect()  # a process that was forgotten warns here, and warnings are errors


async def test_it_is_ended_from_outside(started: list[abc.Process]) -> None:
    async def end() -> None:
        while not started:
            await anyio.lowlevel.checkpoint()
        started[0].kill()

    async with anyio.create_task_group() as group:
        group.start_soon(end)
        with pytest.raises(ReaderError, match=r"^the reader of PDFs ended with status -9$"):
            await read_pdf(SLOW)


GATEWAY = """
import anyio, sys
from core.chat.pdf_process import read_pdf

async def main():
    real = anyio.open_process
    async def start(*arguments, **named):
        process = await real(*arguments, **named)
        print(process.pid, flush=True)
        return process
    anyio.open_process = start
    await read_pdf(sys.stdin.buffer.read(), seconds=60)

anyio.run(main)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells of the end of another's process")
def test_it_ends_by_itself_when_its_gateway_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", GATEWAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as gateway:
        assert gateway.stdin is not None
        assert gateway.stdout is not None
        gateway.stdin.write(SLOW)
        gateway.stdin.close()
        handle = os.pidfd_open(int(gateway.stdout.readline()))
        gateway.kill()
    ended, _, _ = select.select([handle], [], [], 20)
    os.close(handle)
    assert ended


@pytest.mark.parametrize(
    ("code", "status"),
    [("import sys; sys.exit(3)", 3), ("print('X')", 0), ("", 0)],
)
async def test_a_process_without_an_answer(code: str, status: int) -> None:
    with pytest.raises(ReaderError, match=f"^the reader of PDFs ended with status {status}$"):
        await read_pdf(b"x" * 1_000_000, script=("-c", code))


async def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ReaderError, match=r"^no process can be started: "):
        await read_pdf(b"")
