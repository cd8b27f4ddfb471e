from __future__ import annotations

import asyncio
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from core import lines
from core.lines import Lines

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Iterator[tuple[int, io.FileIO]]:
    reader, writer = os.pipe()
    with open(writer, "wb", buffering=0) as file:  # noqa: PTH123  of a number there is no path
        yield reader, file
    os.close(reader)


def test_without_a_loop_a_line_is_there_at_once() -> None:
    file = io.BytesIO()
    found = Lines(file)
    found.msg(b"one")
    found.error(b"two")
    assert file.getvalue() == b"one\ntwo\n"
    found.end()
    assert file.getvalue() == b"one\ntwo\n"


async def test_lines_of_a_loop_go_together_and_in_their_order(pipe: tuple[int, io.FileIO]) -> None:
    found = Lines(pipe[1])
    for number in range(100):
        found.msg(b"%d" % number)
    await asyncio.sleep(0)
    os.set_blocking(pipe[0], False)
    data = os.read(pipe[0], 65536)
    assert data == b"".join(b"%d\n" % number for number in range(100))


@pytest.mark.parametrize("size", [10, 100, lines.AT_ONCE - 1])
async def test_many_lines_need_no_thread(pipe: tuple[int, io.FileIO], size: int) -> None:
    found = Lines(pipe[1])
    sent = [b"%0*d" % (size, number) for number in range(12)]
    for line in sent:
        found.msg(line)
    await asyncio.sleep(0)
    assert os.read(pipe[0], 65536).splitlines() == sent
    assert found._thread is None


async def test_a_file_needs_none_either(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb", buffering=0) as file:
        found = Lines(file)
        for _ in range(100):
            found.msg(b"x" * 10_000)
        await asyncio.sleep(0)
        assert (tmp_path / "log").stat().st_size == 100 * 10_001
        assert found._thread is None


async def test_the_end_writes_what_waits(pipe: tuple[int, io.FileIO]) -> None:
    found = Lines(pipe[1])
    found.msg(b"last")
    found.end()
    assert os.read(pipe[0], 100) == b"last\n"


async def test_lines_that_a_pipe_may_not_take_go_by_a_thread(pipe: tuple[int, io.FileIO]) -> None:
    found = Lines(pipe[1])
    found.msg(b"x" * 200_000)
    await asyncio.sleep(0)
    seen = b""
    while len(seen) < 200_001:
        seen += await asyncio.wait_for(asyncio.to_thread(os.read, pipe[0], 65536), 10)
    assert seen == b"x" * 200_000 + b"\n"
    found.end()


async def test_a_reader_who_stalls_holds_up_nothing(
    pipe: tuple[int, io.FileIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "ROOM", 300_000)
    found = Lines(pipe[1])
    began = time.monotonic()
    for number in range(1000):
        found.msg(b'{"n": %d, "text": "%b"}' % (number, b"x" * 1000))
        if number % 50 == 0:
            await asyncio.sleep(0.001)
    assert time.monotonic() - began < 10
    # The reader comes back: what waited comes whole, then how many are gone.
    seen = b""
    while b"log lines lost" not in seen:
        seen += await asyncio.wait_for(asyncio.to_thread(os.read, pipe[0], 65536), 10)
        found.msg(b'{"n": 0}')
    found.end()
    told = [json.loads(line) for line in seen.splitlines()]
    numbers = [line["n"] for line in told if line.get("text")]
    assert numbers == list(range(len(numbers)))
    lost = next(line for line in told if line.get("event") == "log lines lost")
    assert lost["count"] >= 1000 - len(numbers)
    assert lost["level"] == "warning"


async def test_a_reader_who_stalls_holds_up_no_end(
    pipe: tuple[int, io.FileIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LAST", 0.05)
    found = Lines(pipe[1])
    found.msg(b"x" * 1_000_000)
    await asyncio.sleep(0.01)
    began = time.monotonic()
    found.end()
    assert time.monotonic() - began < 5
    while len(os.read(pipe[0], 1 << 20)) == 1 << 16:  # so that the thread ends with the test
        pass


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not true():
            await anyio.lowlevel.checkpoint()


async def read(number: int, lines: int) -> list[bytes]:
    """So many lines, as they come."""
    os.set_blocking(number, False)
    seen = b""

    def more() -> bool:
        nonlocal seen
        with suppress(BlockingIOError):
            seen += os.read(number, 5000)
        return seen.count(b"\n") >= lines

    await until(more)
    return seen.splitlines()


async def test_what_waits_behind_a_reader_who_comes_back_is_there_at_the_end(pipe: tuple[int, io.FileIO]) -> None:
    found = Lines(pipe[1])
    sent = [b"%0500d" % number for number in range(300)]
    for line in sent:
        found.msg(line)
    await until(lambda: found._thread is not None and found._writing.locked())  # it waits for the reader
    for line in sent:
        found.msg(line)
    ends = asyncio.get_running_loop().run_in_executor(None, found.end)
    await until(lambda: found._ends)
    assert await read(pipe[0], 600) == sent * 2
    await ends


async def test_lines_of_two_workers_are_not_torn_by_each_other(pipe: tuple[int, io.FileIO]) -> None:
    both = [Lines(pipe[1]), Lines(pipe[1])]
    sent = {letter * 700 for letter in (b"a", b"b")}
    for found, line in zip(both, sorted(sent), strict=True):
        for _ in range(600):
            found.msg(line)
    await asyncio.sleep(0)  # the pipe is full, and both wait in a thread
    seen = await read(pipe[0], 1200)
    for found in both:
        found.end()
    assert set(seen) == sent


def test_many_threads_lose_no_line() -> None:
    file = io.BytesIO()
    found = Lines(file)

    def write(number: int) -> None:
        for _ in range(500):
            found.msg(b"%d" % number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.end()
    assert sorted(file.getvalue().splitlines()) == sorted(b"%d" % n for n in range(8) for _ in range(500))


def test_what_cannot_be_written_is_lost() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        found = Lines(full)
        found.msg(b"a line")
    found.msg(b"the file is closed")
    found.end()
