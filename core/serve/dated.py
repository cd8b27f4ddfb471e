"""Hypercorn's configuration, whose `date` is written once a second and not for every answer."""

from __future__ import annotations

import time

from hypercorn.config import Config


class Dated(Config):
    """A configuration; the headers that it adds to every answer are those of the second."""

    _second = 0
    _common: list[tuple[bytes, bytes]] | None = None

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:
        """The headers; they are not to be changed."""
        second = int(time.time())
        if self._common is None or second != self._second:
            self._second = second
            self._common = super().response_headers(protocol)
        return self._common
