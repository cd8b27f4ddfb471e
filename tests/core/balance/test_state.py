from __future__ import annotations

from core.balance.state import BackendState
from core.config import BackendConfig


def test_the_places_are_those_of_the_table() -> None:
    state = BackendState(BackendConfig("b", ("p",), max_concurrent=2, max_queue=3, queue_timeout=4.0))
    assert (state.places.limit, state.places.queue, state.places.seconds) == (2, 3, 4.0)
    assert state.places.free
    assert state.health.may_try()


def test_a_backend_has_no_limit_unless_told() -> None:
    assert BackendState(BackendConfig("b", ("p",))).places.limit == 0
