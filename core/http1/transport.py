"""The transport: one httpx request to one httpx response."""

from __future__ import annotations

import ssl
from typing import Final

import httpx

from core.http1.body import AnswerBody
from core.http1.connect import origin_of
from core.http1.connection import Connection
from core.http1.head import RequestHead, request_head
from core.http1.pool import Pool
from core.http1.sending import send, whole_body

UNLIMITED: Final = httpx.Limits(keepalive_expiry=15.0)
"""As many connections as there are requests; an idle one is kept for so many seconds."""
_QUESTIONS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""What may be asked twice."""


class HTTP1Transport(httpx.AsyncBaseTransport):
    """HTTP/1.1 to any server, on connections that are kept alive, under asyncio or uvloop.

    `tls` is the context for https. Limits of time are those of `request.extensions["timeout"]`, as httpx defines them.
    Every error is one of httpx's own classes, with its cause.

    A request is sent once. The one exception is a kept connection that the server had closed when the request came
    (`Connection.stale`, and for what is no mere question not `taken`): then it is sent a second time, if its body is
    there as bytes, and on a new connection, so that there is never a third.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, limits: httpx.Limits = UNLIMITED) -> None:
        if tls is not None:
            tls.set_alpn_protocols(["http/1.1"])
        self._pool = Pool(tls, limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the response, as soon as its head is there. Its stream must be read or closed.

        Raises httpx.TransportError in its subclasses.
        """
        origin, head = origin_of(request), request_head(request)
        if origin.scheme == "https" and self._pool.tls is None:
            raise httpx.UnsupportedProtocol("https needs a TLS context")
        timeout = request.extensions.get("timeout", {})
        connection = await self._pool.take(origin, timeout)
        try:
            return await self._exchange(connection, request, head)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            unread = connection.stale and (not connection.taken or request.method in _QUESTIONS)
            if not unread or whole_body(request) is None:
                raise
        connection = await self._pool.take(origin, timeout, fresh=True)
        return await self._exchange(connection, request, head)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def _exchange(self, connection: Connection, request: httpx.Request, head: RequestHead) -> httpx.Response:
        timeout = request.extensions.get("timeout", {})
        try:
            await send(connection, request, head, timeout.get("write"))
            await connection.head(timeout.get("read"))
        except BaseException:
            connection.close()
            self._pool.give_back(connection)
            raise
        answer = connection.answer
        # Without a phrase of the server's, httpx knows the status's own.
        phrase = {"reason_phrase": answer.reason} if answer.reason else {}
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=AnswerBody(connection, timeout.get("read"), self._pool.give_back),
            request=request,
            extensions={"http_version": b"HTTP/" + answer.version, **phrase},
        )
