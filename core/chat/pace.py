"""Turns: an upstream that sends faster than it is read would never let the reader wait, and nobody else run."""

from __future__ import annotations

import time
from typing import Final

import anyio.lowlevel

TURN: Final = 0.02
"""Seconds after which a reader lets others run. A client that leaves is noticed within a few turns."""


class Pace:
    """Counts one reader's turns."""

    def __init__(self) -> None:
        self._end = time.monotonic() + TURN

    async def step(self) -> None:
        """Called after each read; lets others run, and a cancellation in, when the turn is over."""
        if time.monotonic() >= self._end:
            await anyio.lowlevel.checkpoint()
            self._end = time.monotonic() + TURN
