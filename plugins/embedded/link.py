"""A worker's link to the embedded engine: starts it or finds it, knows its address, starts it again when it died."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.to_thread
import structlog

from core import UpstreamError
from plugins.embedded.engine import STAY, Options
from plugins.embedded.runtime import Joined, join

LEAVE = 5.0
"""Seconds that the engine may take to end before the worker that started it kills it."""
REAP = 1.0
"""Seconds from the end of the engine's connection to the end of its process, at most."""
PAUSE = 1.0
"""Seconds between the end of an engine and the start of the next."""
MISSED = 5
"""How many engines in a row may end just as this worker connects."""


class Link:
    """One worker's link. `run` keeps it up; `url` waits for the engine."""

    def __init__(self) -> None:
        self._url = ""
        self._failure = "the embedded engine is not running: the server does not run the gateway's lifespan"
        self._changed = anyio.Event()
        self._joined: Joined | None = None

    async def url(self, within: float) -> str:
        """The engine's address. Raises UpstreamError when it failed, or is not ready within these seconds."""
        with anyio.move_on_after(within):
            while not (self._url or self._failure):
                await self._changed.wait()
        if self._url:
            return self._url
        if self._failure:
            raise UpstreamError(self._failure, should_retry=False)
        raise UpstreamError("the embedded engine is still starting; try again", kind="overloaded", retry_after=5)

    def fail(self, sentence: str, *, reason: str = "") -> None:
        """Answer every call with this sentence from now on, and log it with the reason."""
        structlog.get_logger().warning("embedded engine", failure=sentence, **({"reason": reason} if reason else {}))
        self._set(failure=sentence)

    @asynccontextmanager
    async def run(self, options: Options) -> AsyncIterator[None]:
        """Keep the engine running; it starts in the background. Leaves no process behind that only we need."""
        self._set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep, options)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._set(failure="the gateway is ending")

    async def _keep(self, options: Options) -> None:
        missed = 0
        while not self._failure:
            try:
                await anyio.to_thread.run_sync(self._join, options)
                greeting = await self._greeting()
                if greeting is None and self._joined and self._joined.process is None and missed < MISSED:
                    missed += 1
                    continue
                missed = 0
                await self._serve(greeting)
            except OSError as error:
                self.fail("the embedded engine cannot be started; the gateway's log says why", reason=str(error))
            finally:
                with anyio.CancelScope(shield=True):
                    await self._leave()

    def _join(self, options: Options) -> None:
        # Kept here by the thread itself: the result of a cancelled call would be lost, and a process with it.
        self._joined = join(options, master())

    async def _serve(self, greeting: dict[str, object] | None) -> None:
        """Say where the engine is until it ends, or that it failed."""
        if greeting is None or "port" not in greeting:
            said = greeting.get("error") if greeting else self._joined and self._joined.said()
            reason = str(said or "it ended while it started")
            self.fail("the embedded engine did not start; the gateway's log says why", reason=reason)
            return
        self._set(url=f"http://127.0.0.1:{greeting['port']}/v1")
        while await self._receive():
            pass
        self._set()
        if not master_alive():
            self.fail("the gateway is ending")
            return
        structlog.get_logger().warning("embedded engine", failure="it ended; another one is started")
        await anyio.sleep(PAUSE)

    async def _greeting(self) -> dict[str, object] | None:
        """The engine's first line; None when it ended before."""
        data = b""
        while b"\n" not in data:
            received = await self._receive()
            if not received:
                return None
            data += received
        greeting = json.loads(data)
        return greeting if isinstance(greeting, dict) else None

    async def _receive(self) -> bytes:
        """The next bytes; b"" when the engine is gone."""
        if self._joined is None:
            return b""
        connection = self._joined.connection
        while True:
            try:
                return connection.recv(4096)
            except BlockingIOError:
                await anyio.wait_readable(connection)
            except ConnectionError:
                return b""

    async def _leave(self) -> None:
        """Close the connection; when it was the last, wait until the engine has ended, and see that it has."""
        joined = self._joined
        if joined is None:
            return
        stays = False
        with anyio.move_on_after(LEAVE), suppress(OSError):
            joined.connection.shutdown(1)
            while received := await self._receive():
                stays = stays or received.endswith(STAY)
        self._joined = None
        joined.close()
        if joined.process is not None and not stays:
            await anyio.to_thread.run_sync(_end, joined.process)

    def _set(self, *, url: str = "", failure: str = "") -> None:
        self._url, self._failure = url, failure
        self._changed.set()
        self._changed = anyio.Event()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Reap the engine, which has closed its connection; kill it when it hangs."""
    try:
        process.wait(REAP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def master() -> int:
    """The process that is the gateway as a whole: the parent of a server's worker, else this one."""
    parent = multiprocessing.parent_process()
    return os.getpid() if parent is None or parent.pid is None else parent.pid


def master_alive() -> bool:
    """Whether that process is still there."""
    parent = multiprocessing.parent_process()
    return parent is None or parent.is_alive()
