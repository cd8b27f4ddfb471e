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


def test_it_goes_on_with_the_places_of_the_one_before_and_its_own_limits() -> None:
    before = BackendState(BackendConfig("b", ("p",), max_concurrent=2))
    after = BackendState(BackendConfig("b", ("p",), max_concurrent=1, max_queue=7))
    running = before.places.place("a")
    assert running.take()
    after.take_over(before)
    after.take_over(before)
    assert after.places is before.places
    assert (after.places.held, after.places.limit, after.places.queue) == (1, 1, 7)
    assert not after.places.place("a").take()
    running.give_back()
    assert after.places.free
    assert after.health is not before.health
