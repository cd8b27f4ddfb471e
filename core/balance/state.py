"""What a worker process knows of one backend from request to request."""

from __future__ import annotations

from core.balance.health import Health
from core.balance.queue import Places
from core.config import BackendConfig


class BackendState:
    """One backend's health and places; kept over reloads while the backend's table does not change."""

    __slots__ = ("health", "places")

    def __init__(self, config: BackendConfig) -> None:
        self.health = Health()
        limits = (config.max_concurrent, config.max_queue, config.queue_timeout)
        self.places = Places(*limits, welcome=self.health.may_try)
