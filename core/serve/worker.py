"""A worker: the process that loads the application and serves it, from its first line to its end."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

import structlog
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.lifespan import Lifespan
from hypercorn.config import Config
from hypercorn.typing import AppWrapper, LifespanState
from hypercorn.utils import LifespanFailureError

from core.serve.ending import Ending, Leaving, Tell
from core.serve.reception import Reception
from core.serve.settings import STALL_MARGIN, ServerOptions, protocol_config

GRACE: Final = 1.0
"""Seconds that answers have, after the application's own limit for draining, to reach their clients."""


class Application(Leaving, Protocol):
    """What a worker serves: an ASGI application that can be told to end, and to reload in the event loop."""

    @property
    def client_timeout(self) -> float:
        """Seconds that a client may take nothing of what waits for it."""

    @property
    def told(self) -> Any:
        """What it serves, for the master; can be pickled."""

    def reload(self) -> None:
        """Read the configuration again."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection's lifespan or request, as ASGI says."""


def work(options: ServerOptions, sockets: Sequence[socket.socket], pipe: Connection) -> None:
    """The process of a worker. It ends with status 0 when SIGTERM ended it, else with 1."""
    # The master starts us with all three blocked. Until the loop takes over SIGTERM ends us at once; SIGINT goes to
    # the whole terminal, and the master decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM})

    def tell(*words: Any) -> None:
        with suppress(OSError):  # the master is gone, and SIGTERM on its way
            pipe.send(words)

    try:
        application = _load(options)
        with asyncio.Runner(loop_factory=loop_factory(options)) as runner:
            runner.run(serve(application, options, sockets, tell))
    except SystemExit as error:
        tell("failed", str(error.code))
        sys.exit(1)
    except LifespanFailureError as error:  # the application has logged it
        tell("failed", str(error))
        sys.exit(1)
    except Exception as error:  # noqa: BLE001  it is told to the master, and with its traceback to the log
        structlog.get_logger().error("the worker failed", why=str(error), exc_info=error)
        tell("failed", f"{type(error).__name__}: {error}")
        sys.exit(1)


async def serve(application: Application, options: ServerOptions, sockets: Sequence[socket.socket], tell: Tell) -> None:
    """Serve until SIGTERM, then drain after the grace, which SIGUSR1 ends. Raises LifespanFailureError at the start."""
    loop = asyncio.get_running_loop()
    ending = Ending(application, tell, _end_for_certain)
    loop.add_signal_handler(signal.SIGTERM, ending.begin)
    loop.add_signal_handler(signal.SIGUSR1, ending.hurry)
    loop.add_signal_handler(signal.SIGHUP, application.reload)
    config = protocol_config(options)
    wrapped = ASGIWrapper(application)
    async with running(wrapped, config) as state:
        stall = application.client_timeout + STALL_MARGIN
        reception = Reception(wrapped, config, sockets, state, stall)
        reception.open()
        tell("ready", application.drain_timeout, application.drain_grace, application.told)
        await ending.drains.wait()
        await reception.drain(application.drain_timeout + GRACE)


@asynccontextmanager
async def running(app: AppWrapper, config: Config) -> AsyncIterator[LifespanState]:
    """The application's lifespan, and the state that it shares with its requests. Raises LifespanFailureError."""
    state: LifespanState = {}
    lifespan = Lifespan(app, config, asyncio.get_running_loop(), state)
    task = asyncio.create_task(lifespan.handle_lifespan())
    await lifespan.wait_for_startup()
    if task.done():
        await task
    try:
        yield state
    finally:
        await lifespan.wait_for_shutdown()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def loop_factory(options: ServerOptions) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop; None: asyncio's own."""
    if options.worker_class == "asyncio":
        return None
    import uvloop  # noqa: PLC0415  not on every platform

    return uvloop.new_event_loop


def _load(options: ServerOptions) -> Application:
    if options.last_good is not None:
        options.last_good.bequeath(os.environ)
    module, _, name = options.application.partition(":")
    application: Application = getattr(importlib.import_module(module), name)
    return application


def _end_for_certain(seconds: float) -> None:
    """End the process then, even if a thread hangs or the master that would kill it is gone."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
