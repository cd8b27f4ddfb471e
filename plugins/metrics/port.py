"""A port of its own for the page, which all workers listen on: the system gives each scrape to one of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from core import Page

TIME: Final = 10.0
"""Seconds that a connection may say or take nothing."""


def host_port(bind: str) -> tuple[str, int]:
    """The parts of HOST:PORT or [IPv6]:PORT. Raises ValueError when it is neither."""
    host, _, port = bind.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or not 0 < int(port) < 65536 or not bare or (":" in bare) != host.startswith("["):
        raise ValueError(f"{bind!r} is not HOST:PORT or [IPv6]:PORT")
    return bare, int(port)


def refuse_taken(host: str, port: int) -> None:
    """Raises OSError when somebody listens there: two servers that share a port would be scraped by turns."""
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(error.errno, f"metrics cannot listen on {host}:{port}: {error.strerror}") from None


@contextmanager
def serving(host: str, port: int, page: Callable[[], Page]) -> Iterator[None]:
    """Answer GET /metrics (and /) there, in threads of their own. Raises OSError."""
    server = _Server((host, port), page)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(1)


class _Handler(WSGIRequestHandler):
    timeout = TIME

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], page: Callable[[], Page]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)
        self.set_app(lambda environ, start: _answer(environ, start, page))

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        TCPServer.server_bind(self)  # the one between asks the name service for this host's name, and may wait long
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is nothing to tell of."""


def _answer(environ: dict[str, Any], start: Callable[..., Any], page: Callable[[], Page]) -> list[bytes]:
    found = Page(b"the metrics are at /metrics\n", status=404)
    if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"] in {"/", "/metrics"}:
        found = page()
    words = {200: "200 OK", 404: "404 Not Found"}.get(found.status, "500 Internal Server Error")
    start(words, [("content-type", found.content_type), ("content-length", str(len(found.body)))])
    return [found.body]


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
