"""What a worker process knows of one backend from request to request."""

from __future__ import annotations

from core.balance.health import Health
from core.balance.queue import Places
from core.config import BackendConfig


class BackendState:
    """One backend's health and places; kept over reloads while the backend's table does not change.

    Where it changes, but not the server, the places go over to the new state: what runs there goes on counting.
    """

    __slots__ = ("health", "places")

    def __init__(self, config: BackendConfig) -> None:
        self.health = Health()
        limits = (config.max_concurrent, config.max_queue, config.queue_timeout)
        self.places = Places(*limits, welcome=self.health.may_try)

    def take_over(self, before: BackendState) -> None:
        """Go on with the places of the one before, which both have then, and with this one's limits."""
        if before.places is not self.places:
            before.places.follow(self.places)
            self.places = before.places
