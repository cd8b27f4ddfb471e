"""The embedded engine: llama.cpp's own server in a process that lives only while a gateway does.

Run as a script, so that nothing of the gateway is loaded: `engine.py LISTENER MASTER OPTIONS`, where LISTENER is the
number of an inherited listening Unix socket, MASTER the process id of the gateway and OPTIONS the JSON of `Options`.

Every worker of the gateway holds one connection to the socket for its life. Each is told, in one line of JSON, `port`
(the server's, on 127.0.0.1) or `error`. The process ends when the last of them has closed, which the kernel does for a
killed worker; when none has come within FIRST seconds; and when MASTER is gone. A connection that closes while others
are open is told STAY; the last one sees the end of the process as the end of its stream.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import attrs

FIRST = 15.0
"""Seconds that the engine waits for its first connection."""
LOOK = 1.0
"""Seconds between two looks at the master, where the system cannot report its end."""
STOP = 3
"""Seconds that the server may take to stop before the kernel ends it."""
FLUSH = 0.3
"""Seconds after which what the server had to say is in its log: it writes from a thread of its own."""
STAY = b"stay\n"

ReasoningFormat = Literal["none", "auto", "deepseek", "deepseek-legacy"]


@attrs.frozen
class Options:
    """What the server is started with; `model` is the absolute path of a .gguf file. See `Embedded` for the rest."""

    model: str
    context: int
    slots: int
    threads: int
    reasoning: ReasoningFormat

    def dumps(self) -> str:
        """As JSON; the same options give the same text."""
        return json.dumps(attrs.asdict(self), sort_keys=True)


def serve(options: Options) -> tuple[Any, int]:
    """The running server and its port. It holds the interpreter while it loads the model; raises RuntimeError."""
    import xllamacpp  # noqa: PLC0415  an optional wheel

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {Path(options.model).stem}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.kv_unified = options.context, options.slots, True
    threads = options.threads or os.cpu_count() or 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    name = options.reasoning.upper().replace("-", "_")
    params.reasoning_format = getattr(xllamacpp.common_reasoning_format, f"COMMON_REASONING_FORMAT_{name}")
    params.endpoint_slots, params.ui, params.fit_params, params.warmup = True, False, False, False
    # Its default is a prompt cache of 8 GiB: too much for a guest in somebody's process.
    params.cache_ram_mib = 256
    params.verbosity = 1
    server = xllamacpp.Server(params)
    return server, int(server.listening_address.rpartition(":")[2])


class Keeper:
    """Holds the connections, and knows when there is no reason left to live."""

    def __init__(self, listener: socket.socket, greeting: dict[str, Any], master: int) -> None:
        self._listener = listener
        self._greeting = json.dumps(greeting).encode() + b"\n"
        self._master = master
        self._open: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Returns when the process shall end; the last connection is still open then."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        if not self._watch_master():
            return
        deadline = time.monotonic() + FIRST
        met = False
        while alive(self._master):
            for key, _ in self._selector.select(LOOK):
                if key.data is None or not key.data(key.fileobj):
                    return
            met = met or bool(self._open)
            if not met and time.monotonic() > deadline:
                return

    def close(self) -> None:
        """Close every connection, as the end of the process does."""
        for connection in self._open:
            connection.close()
        self._selector.close()

    def _watch_master(self) -> bool:
        """Be woken by the master's end, where the system can do that; False: it is gone."""
        if not hasattr(os, "pidfd_open"):
            return True
        try:
            self._selector.register(os.pidfd_open(self._master), selectors.EVENT_READ, None)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        return True

    def _accept(self, _: socket.socket) -> bool:
        """Greet whoever waits; always True: live on."""
        with suppress(OSError):  # nobody waits
            while True:
                connection, _address = self._listener.accept()
                # One that is gone already is noticed when it is read.
                with suppress(OSError):
                    connection.sendall(self._greeting)
                self._open.add(connection)
                self._selector.register(connection, selectors.EVENT_READ, self._closed)
        return True

    def _closed(self, connection: socket.socket) -> bool:
        """A worker has gone; False when it was the last."""
        self._accept(self._listener)
        if len(self._open) == 1:
            return False
        self._open.remove(connection)
        self._selector.unregister(connection)
        with suppress(OSError):
            connection.sendall(STAY)
        connection.close()
        return True


def alive(process: int) -> bool:
    """Whether there is a process of that id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(arguments: list[str]) -> None:
    """The process, from its start to its end."""
    listener = socket.socket(fileno=int(arguments[0]))
    server = None
    try:
        server, port = serve(Options(**json.loads(arguments[2])))
        greeting: dict[str, Any] = {"port": port}
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
    except Exception as error:  # noqa: BLE001  whatever it is, the gateway is told
        greeting = {"error": " ".join([str(error), *_errors_logged()])}
    keeper = Keeper(listener, greeting, int(arguments[1]))
    keeper.run()
    # While the name is ours nobody else binds it: it goes before the socket does.
    Path(listener.getsockname()).unlink(missing_ok=True)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(STOP)
    del server
    keeper.close()


def _errors_logged() -> list[str]:
    """The last lines that the server wrote to the log file behind stderr."""
    time.sleep(FLUSH)
    try:
        text = os.pread(2, 1 << 16, 0).decode("utf-8", "replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()][-3:]


if __name__ == "__main__":
    main(sys.argv[1:])
