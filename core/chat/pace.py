"""Turns: an upstream that sends faster than it is read would never let the reader wait, and nobody else run."""

from __future__ import annotations

import time
from typing import Final

import anyio.lowlevel

TURN: Final = 0.02
"""Seconds after which a reader lets others run. A client that leaves is noticed within a few turns."""

WAITED: Final = 0.001
"""Seconds of a read from which on it is taken for one that waited."""


class Pace:
    """Counts one reader's turns."""

    def __init__(self) -> None:
        self._end = time.monotonic() + TURN

    def over(self, since: float) -> bool:
        """Whether the turn is: asked after each read, which began `since` (monotonic seconds).

        A read that had to wait let others run: the turn begins anew.
        """
        now = time.monotonic()
        if now - since > WAITED:
            self._end = now + TURN
        return now >= self._end

    async def rest(self) -> None:
        """Let others run, and a cancellation in; then it is our turn again."""
        await anyio.lowlevel.checkpoint()
        self._end = time.monotonic() + TURN
