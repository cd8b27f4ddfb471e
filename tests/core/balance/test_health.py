from __future__ import annotations

import random

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.balance.health import BASE, CREDIT, ENOUGH, JITTER, LONGEST, MAX, MEMORY, PROBE, Health
from core.errors import Kind, UpstreamError
from tests.core.balance.clocks import Clock, even


def error(kind: Kind = "overloaded", retry_after: float | None = None, status: int | None = None) -> UpstreamError:
    return UpstreamError("no", kind=kind, retry_after=retry_after, status=status)


TIMEOUT = error("timeout")
BROKEN = error("api", status=502)


def caused(by: Exception, kind: Kind = "timeout", status: int | None = None) -> UpstreamError:
    found = error(kind, status=status)
    found.__cause__ = by
    return found


REFUSED = caused(httpx.ConnectError("refused"), "overloaded")


class Patient:
    """A health, and its clock."""

    def __init__(self, chance: float = 0.5) -> None:
        self.clock = Clock()
        self.health = Health(self.clock, lambda: chance)

    def fail(self, *errors: UpstreamError) -> None:
        for each in errors:
            self.health.begin().failed(each)

    def win(self, times: int = 1) -> None:
        for _ in range(times):
            self.health.begin().won()

    def failures(self, failure: UpstreamError) -> int:
        """How many it takes to begin a cool-down."""
        for number in range(1, 100):
            self.fail(failure)
            if not self.health.may_try():
                return number
        raise AssertionError("it never cools")

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds


@pytest.mark.parametrize(
    "failure",
    [
        error("rate_limit", BASE),
        error("overloaded", BASE),
        error("overloaded", BASE, status=503),
        REFUSED,
        caused(httpx.ConnectTimeout("slow")),
        caused(httpx.ConnectError("certificate"), "api", 502),
    ],
)
def test_a_told_time_and_no_connection_cool_at_once(failure: UpstreamError) -> None:
    patient = Patient()
    assert (patient.health.state, patient.health.remaining()) == ("closed", 0)
    patient.fail(failure)
    assert (patient.health.state, patient.health.may_try()) == ("cooling", False)
    assert patient.health.remaining() == BASE
    patient.wait(BASE / 2)
    assert (patient.health.remaining(), patient.health.may_try()) == (BASE / 2, False)
    patient.wait(BASE / 2)
    assert (patient.health.state, patient.health.may_try(), patient.health.remaining()) == ("half-open", True, 0)


OTHERS = [
    TIMEOUT,
    BROKEN,
    error("api"),
    error("api", 9),
    error("rate_limit"),
    error("overloaded"),
    error("overloaded", status=503),
    caused(httpx.ReadTimeout("silent")),
]


@pytest.mark.parametrize("failure", OTHERS)
def test_other_failures_must_be_several(failure: UpstreamError) -> None:
    assert Patient().failures(failure) == ENOUGH


@pytest.mark.parametrize("failure", OTHERS)
def test_a_success_outweighs_a_failure(failure: UpstreamError) -> None:
    patient = Patient()
    for _ in range(50):
        patient.fail(failure, failure)
        patient.win(2)
    assert patient.health.state == "closed"
    patient.fail(failure, failure)
    patient.win()
    assert patient.failures(failure) == 2, "they mostly fail"


@pytest.mark.parametrize("served", [CREDIT, 10 * CREDIT])
def test_one_that_served_well_has_a_credit_which_is_small_and_ends(served: int) -> None:
    patient = Patient()
    patient.win(served)
    patient.wait(MEMORY)
    assert patient.failures(BROKEN) == CREDIT + ENOUGH
    patient = Patient()
    patient.win(served)
    patient.wait(MEMORY + 0.1)
    assert patient.failures(BROKEN) == ENOUGH


def test_time_forgets_no_failures() -> None:
    patient = Patient()
    patient.win()
    for _ in range(ENOUGH):
        assert patient.health.state == "closed"
        patient.wait(10 * MEMORY)
        patient.fail(TIMEOUT)
    assert patient.health.state == "cooling"


def test_no_connection_to_a_busy_one_cools_it_the_second_time() -> None:
    patient = Patient()
    patient.win(100)
    assert patient.failures(REFUSED) == 2


def test_a_told_time_counts_whatever_was_before() -> None:
    patient = Patient()
    patient.win(100)
    patient.fail(error("overloaded", 7, status=503))
    assert (patient.health.remaining(), patient.health.told) == (7, True)


@pytest.mark.parametrize("seed", range(5))
def test_one_that_fails_now_and_then_hardly_ever_cools(seed: int) -> None:
    chance, patient = random.Random(seed), Patient()
    for _ in range(5000):
        if chance.random() < 0.15:
            patient.fail(error(status=503))
        else:
            patient.win()
        patient.wait(0.01 + patient.health.remaining())
    assert patient.health.begin().era <= 2


@pytest.mark.parametrize("seed", range(5))
def test_one_that_mostly_fails_cools_soon(seed: int) -> None:
    chance, patient, tried = random.Random(seed), Patient(), 0
    while patient.health.may_try():
        tried += 1
        if chance.random() < 0.75:
            patient.fail(BROKEN)
        else:
            patient.win()
    assert tried < 40


@pytest.mark.parametrize("status", [400, 402, 404, 413])
def test_the_clients_own_refusals_are_successes(status: int) -> None:
    patient = Patient()
    patient.fail(TIMEOUT, TIMEOUT, error("invalid_request", status=status), TIMEOUT)
    assert patient.health.may_try()
    patient.fail(*[error("invalid_request", status=status)] * 20)
    assert patient.health.may_try()


@pytest.mark.parametrize(("told", "waits"), [(7.5, 7.5), (0.02, 0.02), (1e9, MAX), (0, BASE), (-1, BASE), (None, BASE)])
@pytest.mark.parametrize("chance", [0.5])
def test_a_told_wait_is_kept_to_the_letter(told: float | None, waits: float, chance: float) -> None:
    patient = Patient(chance)
    assert patient.failures(error("rate_limit", told)) == (1 if told and told > 0 else ENOUGH)
    assert patient.health.remaining() == pytest.approx(waits)


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_chance_never_shortens_a_told_wait(chance: float) -> None:
    patient = Patient(chance)
    patient.fail(error("rate_limit", 10))
    assert patient.health.remaining() == 10


def test_cool_downs_double_until_a_success() -> None:
    patient, found = Patient(), []
    for _ in range(8):
        patient.fail(REFUSED)
        found.append(patient.health.remaining())
        patient.wait(found[-1])
    assert found == [1, 2, 4, 8, 16, 32, LONGEST, LONGEST]
    patient.win()
    patient.wait(MEMORY + 1)
    patient.fail(REFUSED)
    assert patient.health.remaining() == BASE


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 1 - JITTER), (0.5, 1), (1.0, 1 + JITTER)])
def test_chance_spreads_the_cool_downs_that_nobody_told(chance: float, factor: float) -> None:
    patient = Patient(chance)
    patient.fail(REFUSED)
    assert patient.health.remaining() == pytest.approx(BASE * factor)


def test_one_probe_goes_and_its_success_closes() -> None:
    patient = Patient()
    patient.fail(REFUSED)
    patient.wait(BASE)
    probe = patient.health.begin()
    assert (patient.health.may_try(), patient.health.remaining()) == (False, BASE)
    probe.won()
    assert (patient.health.state, patient.health.may_try()) == ("closed", True)
    assert patient.health.last_error is None


def test_any_failure_of_a_probe_cools_again() -> None:
    patient = Patient()
    patient.fail(REFUSED)
    patient.wait(BASE)
    patient.fail(TIMEOUT)
    assert (patient.health.state, patient.health.remaining()) == ("cooling", 2 * BASE)


def test_a_probe_whose_client_goes_makes_room_for_the_next() -> None:
    patient = Patient()
    patient.fail(REFUSED)
    patient.wait(BASE)
    patient.health.begin().left()
    assert (patient.health.state, patient.health.may_try()) == ("half-open", True)


def test_a_probe_that_takes_for_ever_keeps_nobody_away() -> None:
    patient = Patient()
    patient.fail(REFUSED)
    patient.wait(BASE)
    slow = patient.health.begin()
    patient.wait(PROBE)
    assert patient.health.may_try()
    other = patient.health.begin()
    slow.left()
    assert not patient.health.may_try()
    other.won()
    assert patient.health.state == "closed"


def test_an_answer_that_begins_opens_the_way_and_may_still_break_off() -> None:
    patient = Patient()
    patient.fail(REFUSED)
    patient.wait(BASE)
    probe = patient.health.begin()
    probe.begun()
    assert patient.health.state == "closed"
    probe.failed(BROKEN)
    assert patient.health.state == "closed"
    assert patient.failures(BROKEN) == ENOUGH - 1
    assert patient.health.remaining() == 2 * BASE


def test_an_older_success_does_not_end_a_cool_down() -> None:
    patient = Patient()
    old, older = patient.health.begin(), patient.health.begin()
    patient.fail(REFUSED)
    old.begun()
    old.won()
    assert not patient.health.may_try()
    patient.wait(BASE)
    older.won()
    assert patient.health.state == "half-open"
    patient.fail(REFUSED)
    assert patient.health.remaining() == 2 * BASE


def test_older_failures_do_not_double_a_cool_down_but_what_they_tell_counts() -> None:
    patient = Patient()
    first, second, third = patient.health.begin(), patient.health.begin(), patient.health.begin()
    first.failed(REFUSED)
    second.failed(REFUSED)
    assert patient.health.remaining() == BASE
    third.failed(error("rate_limit", 9))
    assert patient.health.remaining() == 9
    patient.fail(error("rate_limit", 3))
    assert patient.health.remaining() == 9


def test_an_older_failure_does_not_begin_the_next_cool_down() -> None:
    patient = Patient()
    old = patient.health.begin()
    patient.fail(REFUSED)
    patient.wait(BASE)
    old.failed(TIMEOUT)
    assert (patient.health.state, patient.health.may_try()) == ("half-open", True)


def test_a_failure_that_is_older_than_the_last_cool_down_says_nothing_of_what_came_after() -> None:
    patient = Patient()
    old = [patient.health.begin() for _ in range(9)]
    patient.fail(REFUSED)
    patient.wait(BASE)
    patient.win()
    for trial in old[1:]:
        trial.failed(TIMEOUT)
    assert patient.health.state == "closed"
    old[0].failed(error("rate_limit", 4))
    assert patient.health.remaining() == 4, "but what it was told counts"


def test_an_unwelcome_attempt_that_wins_shows_that_the_backend_is_back() -> None:
    patient = Patient()
    patient.fail(error(retry_after=100))
    lone = patient.health.begin()
    lone.won()
    assert patient.health.state == "closed"


def test_the_first_word_of_an_attempt_counts() -> None:
    patient = Patient()
    trial = patient.health.begin()
    trial.won()
    trial.failed(REFUSED)
    trial.left()
    assert patient.health.may_try()
    trial = patient.health.begin()
    trial.left()
    trial.failed(REFUSED)
    trial.begun()
    assert patient.health.may_try()


def test_the_last_error_is_a_copy_that_says_how_long_to_wait_yet() -> None:
    patient = Patient()
    raised = UpstreamError("busy", kind="rate_limit", retry_after=5, should_retry=False, code="spent")
    try:
        raise raised
    except UpstreamError:
        patient.fail(raised)
    patient.wait(2)
    told = patient.health.last_error
    assert told is not None
    assert told is not raised
    assert told.__traceback__ is None
    assert (told.message, told.kind, told.status, told.retry_after) == ("busy", "rate_limit", 429, 3)
    assert (told.should_retry, told.code) == (False, "spent")
    patient.wait(4)
    assert (told := patient.health.last_error) is not None
    assert told.retry_after == 5


moves = st.lists(
    st.tuples(
        st.sampled_from(["begin", "won", "refused", "timeout", "told", "left", "begun", "wait"]), st.integers(0, 5)
    ),
    max_size=60,
)


@settings(deadline=None)
@given(moves)
def test_whatever_happens_the_breaker_keeps_its_promises(script: list[tuple[str, int]]) -> None:
    clock = Clock()
    health = Health(clock, even)
    running = []
    for move, number in script:
        if move == "begin":
            was = health.state
            welcome = health.may_try()
            running.append(health.begin())
            # Half-open lets just one through: with the probe out nobody else is welcome.
            assert health.may_try() == (was == "closed"), (was, welcome)
        elif move == "wait":
            clock.now += number
        elif running:
            trial = running.pop(number % len(running))
            if move in ("won", "left", "begun"):
                getattr(trial, move)()
            else:
                failures = {"refused": REFUSED, "timeout": TIMEOUT, "told": error("rate_limit", float(number))}
                was = health.state
                trial.failed(failures[move])
                assert was == "closed" or health.state != "closed"
                assert move != "told" or not number or health.remaining() >= number
        assert health.may_try() == (health.remaining() == 0)
        assert health.state != "cooling" or not health.may_try()
        assert 0 <= health.remaining() <= MAX
    # Nothing keeps a backend away for ever.
    clock.now += MAX
    assert health.may_try()
    health.begin().won()
    assert health.state == "closed"


def test_an_answer_that_has_begun_is_a_success_until_it_breaks_off() -> None:
    patient = Patient()
    running = [patient.health.begin() for _ in range(20)]
    for trial in running:
        trial.begun()
        patient.fail(BROKEN)
    assert patient.health.state == "closed"
    running[0].failed(BROKEN)
    assert patient.health.may_try()
    running[1].failed(BROKEN)
    assert not patient.health.may_try(), "each is a failure more and a success less"


def test_answers_that_all_break_off_are_failures_although_they_began() -> None:
    patient = Patient()
    for number in range(ENOUGH):
        assert patient.health.state == "closed", number
        trial = patient.health.begin()
        trial.begun()
        trial.failed(BROKEN)
    assert patient.health.state == "cooling"


def test_a_success_that_takes_long_counts_from_its_beginning() -> None:
    patient, found = Patient(), []
    before = patient.health.begin()
    for _ in range(6):
        patient.fail(REFUSED)
        found.append(patient.health.remaining())
        patient.wait(found[-1])
        probe = patient.health.begin()
        probe.begun()
        assert patient.failures(REFUSED) == 2
        found.append(patient.health.remaining())
        probe.won()
        patient.wait(found[-1])
    assert max(found) == 4 * BASE
    for _ in range(6):
        patient.fail(REFUSED)
        patient.wait(patient.health.remaining())
    before.won()
    patient.fail(REFUSED)
    assert patient.health.remaining() == LONGEST, "it began before all of them"
