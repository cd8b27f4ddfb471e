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

    def over(self) -> bool:
        """Whether the turn is: asked after each read."""
        return time.monotonic() >= self._end

    async def rest(self) -> None:
        """Let others run, and a cancellation in; then it is our turn again."""
        await anyio.lowlevel.checkpoint()
        self._end = time.monotonic() + TURN
