"""An answer's writer that tells an exchange what it writes."""

from __future__ import annotations

from collections.abc import Sequence

from core import Answer, Delta, GatewayError
from plugins.capture.exchange import Exchange


class CapturedAnswer:
    """Writes what the wrapped answer writes, byte for byte."""

    def __init__(self, inner: Answer, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    @property
    def status(self) -> int:
        """The status of the wrapped answer."""
        return self._inner.status

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Its headers."""
        return self._inner.headers

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Its bytes."""
        return self._noted(self._inner.feed(deltas))

    def ping(self) -> bytes:
        """Its sign of life."""
        return self._noted(self._inner.ping())

    def finish(self) -> bytes:
        """Its end."""
        data = self._noted(self._inner.finish())
        self._exchange.done(self._inner.status)
        return data

    def fail(self, error: GatewayError) -> bytes:
        """Its error."""
        data = self._noted(self._inner.fail(error))
        self._exchange.done(self._inner.status)
        return data

    def _noted(self, data: bytes) -> bytes:
        self._exchange.answer(data)
        return data
