"""What `hookline serve` may be told, and every limit of Hypercorn that we set."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Literal

import attrs

from core.last_good import LastGood

if TYPE_CHECKING:
    from hypercorn.config import Config

WorkerClass = Literal["uvloop", "asyncio"]

HEADERS: Final = 64 * 1024
"""Bytes of a request's line and headers; over HTTP/1 also of its trailers and chunk extensions."""
STALL_MARGIN: Final = 5.0
"""Seconds that the application has to cut a stalled client in order, before its connection is."""


class ServerError(Exception):
    """The server cannot start, or cannot go on; the text is one line for the user."""


@attrs.frozen
class ServerOptions:
    """How to serve; times in seconds. A bind is HOST:PORT, [IPv6]:PORT, unix:PATH or fd://NUMBER."""

    bind: tuple[str, ...] = ("127.0.0.1:8080",)
    workers: int = 1
    worker_class: WorkerClass = "uvloop"
    backlog: int = 1024
    keep_alive: float = 75.0
    application: str = "core.app:app"
    """MODULE:NAME of what the workers serve, a `core.serve.worker.Application`."""
    last_good: LastGood | None = attrs.field(default=None, eq=False)
    """What the workers served last, for those that begin later."""


def protocol_config(options: ServerOptions) -> Config:
    """The configuration of Hypercorn's protocols. It is one worker's own: draining changes it."""
    from core.serve.dated import Dated  # noqa: PLC0415  the master reads this module, too, and needs no Hypercorn

    config = Dated()
    # Over it the answer is a 431. Large enough for the longest tokens and beta lists that clients send.
    config.h11_max_incomplete_size = HEADERS
    config.h2_max_header_list_size = HEADERS
    # The time of an idle connection, and also that for the first request's headers: the clock runs from the moment
    # of the connection, or of the last answer's end, until a request's headers are complete.
    config.keep_alive_timeout = options.keep_alive
    # HTTP/1: a client comes back through the listening socket now and then, where another worker may take it.
    config.keep_alive_max_requests = 1000
    # HTTP/2: requests that run at once on one connection.
    config.h2_max_concurrent_streams = 100
    # HTTP/2: pieces of a request's body (64 KiB each at most) that wait for the application; beyond, the socket is not
    # read.
    config.max_app_queue_size = 10
    config.backlog = options.backlog
    # What serves is nobody's business.
    config.include_server_header = False
    # The end of the plugins' own parts, once no request is left.
    config.shutdown_timeout = 7.0
    return config


def for_http2(config: Config) -> Config:
    """A copy for HTTP/2, where Hypercorn's way to end a connection after so many requests cuts those that run."""
    copied = type(config)()
    copied.__dict__.update(config.__dict__)
    copied.keep_alive_max_requests = sys.maxsize
    return copied
