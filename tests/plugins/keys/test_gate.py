from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import GatewayError
from plugins.keys.gate import Gate, Holder, NotInUseError
from plugins.keys.ledger import Seen
from plugins.keys.limits import Limits
from plugins.keys.token import Token, new_token
from tests.plugins.keys.samples import Clock, asking, gate_of, http_with, made, recorded


def enter(gate: Gate, token: Token) -> Holder:
    http = asking(token)
    return gate.enter(http, recorded(http))


def refusal(gate: Gate, token: Token) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        enter(gate, token)
    return caught.value


def test_whoever_has_a_key_comes_in_under_its_name() -> None:
    key, token = made("ci")
    http = asking(token)
    record = recorded(http)
    assert gate_of(key, made("other")[0]).enter(http, record).key == key
    assert record.key == "ci"


def test_unknown_wrong_malformed_revoked_and_expired_are_told_the_same() -> None:
    clock = Clock()
    key, token = made("ci")
    past = datetime.fromtimestamp(clock.unix, UTC) - timedelta(seconds=1)
    revoked, was = made("old", revoked=past)
    expired, over = made("late", expires=past)
    gate = gate_of(key, revoked, expired, clock=clock)
    wrong = Token(token.id, new_token().secret)
    tokens = [new_token(), wrong, Token(token.id, token.secret[:-1]), Token(was.id, token.secret), was, over]
    found = [refusal(gate, each) for each in tokens]
    assert {(each.message, each.status, each.should_retry, each.retry_after) for each in found} == {
        ("invalid x-api-key", 401, False, None)
    }
    causes = [each.__cause__ for each in found]
    assert [str(each) for each in causes if each] == ["the key 'old' is revoked", "the key 'late' is expired"]
    assert all(isinstance(each, NotInUseError) for each in causes if each)


def test_an_unknown_id_costs_the_same_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    true = Token.matches

    def matches(self: Token, sha256: str) -> bool:
        compared.append(len(sha256))
        return true(self, sha256)

    monkeypatch.setattr(Token, "matches", matches)
    key, token = made()
    gate = gate_of(key)
    for each in (token, Token(token.id, b"x"), new_token()):
        with suppress(GatewayError):
            enter(gate, each)
    with pytest.raises(GatewayError):
        gate.enter(http_with((b"x-api-key", b"\xff")), recorded(http_with()))
    assert compared == [64, 64, 64, 64]


def test_a_refused_request_without_a_valid_key_has_no_name() -> None:
    key, token = made()
    http = asking(Token(token.id, b"wrong"))
    record = recorded(http)
    with pytest.raises(GatewayError):
        gate_of(key).enter(http, record)
    assert record.key == ""


def test_a_key_expires_while_it_serves() -> None:
    clock = Clock()
    key, token = made(expires=datetime.fromtimestamp(clock.unix + 5, UTC))
    gate = gate_of(key, clock=clock)
    enter(gate, token)
    clock.go(5)
    assert refusal(gate, token).status == 401


def test_requests_per_minute_and_the_wait_is_true() -> None:
    clock = Clock()
    key, token = made(requests_per_minute=3)
    gate = gate_of(key, clock=clock)
    for _ in range(3):
        gate.leave(enter(gate, token), 0, 0)
        clock.go(5)
    error = refusal(gate, token)
    assert (error.status, error.kind, error.should_retry, error.retry_after) == (429, "rate_limit", True, 45)
    assert error.message == "requests_per_minute: this key may send 3 requests a minute"
    clock.go(44)
    assert refusal(gate, token).retry_after == 1
    clock.go(1)
    enter(gate, token)
    assert refusal(gate, token).retry_after == 5


def test_what_was_refused_is_no_request() -> None:
    clock = Clock()
    key, token = made(requests_per_minute=1)
    gate = gate_of(key, clock=clock)
    enter(gate, token)
    for _ in range(50):
        refusal(gate, token)
        clock.go(1)
    clock.go(10)
    enter(gate, token)
    (first, *_) = gate.ledger.take().minutes.values()
    assert first.requests + first.refused > 1


def test_tokens_per_minute_count_once_a_request_is_over() -> None:
    clock = Clock()
    key, token = made(tokens_per_minute=100)
    gate = gate_of(key, clock=clock)
    one, two = enter(gate, token), enter(gate, token)
    gate.leave(one, 60, 39)
    three = enter(gate, token)
    gate.leave(two, 0, 1)
    assert refusal(gate, token).retry_after == 60
    clock.go(30)
    gate.leave(three, 500, 0)
    error = refusal(gate, token)
    assert (error.retry_after, error.should_retry) == (60, True)
    clock.go(60)
    enter(gate, token)


def test_concurrency_comes_back() -> None:
    key, token = made(max_concurrent=2)
    gate = gate_of(key)
    one, _ = enter(gate, token), enter(gate, token)
    error = refusal(gate, token)
    assert (error.status, error.retry_after, error.should_retry) == (429, 1, True)
    gate.leave(one, 0, 0)
    enter(gate, token)
    assert refusal(gate, token).status == 429


@pytest.mark.parametrize(("period", "soon"), [("day", False), ("week", False), ("month", False), ("total", False)])
def test_a_budget_and_the_end_of_its_period(period: str, soon: bool) -> None:
    clock = Clock(unix=datetime(2027, 1, 31, 12, tzinfo=UTC).timestamp())
    key, token = made(budget_tokens=100, budget_period=period)
    gate = gate_of(key, clock=clock)
    gate.leave(enter(gate, token), 90, 9)
    gate.leave(enter(gate, token), 1000, 0)
    error = refusal(gate, token)
    assert (error.status, error.kind, error.should_retry) == (429, "rate_limit", soon)
    if period == "total":
        assert error.retry_after is None
        assert error.message == "budget_tokens: this key may use 100 tokens in all"
        return
    assert error.message == f"budget_tokens: this key may use 100 tokens a {period}"
    assert error.retry_after == 43200  # a Sunday, and the last of its month
    clock.go(43200)
    gate.ledger.take()
    gate.ledger.settle(Seen({key.id: (int(clock.unix) - 43200 * 2, 1099)}))
    enter(gate, token)


def test_the_longest_wait_is_told() -> None:
    clock = Clock()
    key, token = made(requests_per_minute=1, max_concurrent=1, tokens_per_minute=5)
    gate = gate_of(key, clock=clock)
    holder = enter(gate, token)
    clock.go(10)
    assert refusal(gate, token).retry_after == 50
    gate.leave(holder, 5, 0)
    assert refusal(gate, token).message.startswith("tokens_per_minute")
    assert refusal(gate, token).retry_after == 60


def test_what_other_workers_did_counts() -> None:
    clock = Clock()
    key, token = made(requests_per_minute=5, tokens_per_minute=100, budget_tokens=1000)
    gate = gate_of(key, clock=clock)
    second = int(clock.monotonic)
    gate.ledger.settle(Seen(others={key.id: ((second - 10, 4, 0),)}))
    enter(gate, token)
    assert refusal(gate, token).retry_after == 50
    gate.ledger.settle(Seen(others={key.id: ((second - 20, 0, 100),)}))
    assert refusal(gate, token).retry_after == 40
    gate.ledger.settle(Seen({key.id: (gate.budgets()[key.id], 1000)}))
    assert refusal(gate, token).message.startswith("budget_tokens")


def test_a_clock_that_is_set_changes_no_rate() -> None:
    clock = Clock()
    key, token = made(requests_per_minute=1)
    gate = gate_of(key, clock=clock)
    enter(gate, token)
    for jump in (-1e8, 2e8, 3600):
        clock.unix += jump
        assert refusal(gate, token).retry_after == 60
    clock.go(60)
    enter(gate, token)


def test_a_clock_that_is_set_back_and_forth_does_not_free_a_budget() -> None:
    clock = Clock(unix=datetime(2027, 1, 31, 12, tzinfo=UTC).timestamp())
    key, token = made(budget_tokens=10, budget_period="month")
    gate = gate_of(key, clock=clock)
    gate.leave(enter(gate, token), 10, 0)
    for jump in (-86400 * 40, 86400 * 40, 1):
        clock.unix += jump
        assert refusal(gate, token).message.startswith("budget_tokens")


def test_new_keys_take_the_place_of_old_ones_and_what_runs_still_counts() -> None:
    clock = Clock()
    key, token = made(max_concurrent=1, requests_per_minute=2)
    other, another = made("other")
    gate = gate_of(key, clock=clock)
    holder = enter(gate, token)
    gate.replace((key, other), Limits())
    assert refusal(gate, token).message.startswith("max_concurrent")
    enter(gate, another)
    gate.leave(holder, 0, 0)
    enter(gate, token)
    gate.replace((other,), Limits())
    assert refusal(gate, token).status == 401


def test_defaults_hold_for_keys_that_say_nothing() -> None:
    plain, one = made("plain")
    free, two = made("free", requests_per_minute=0)
    gate = gate_of(plain, free, defaults=Limits(requests_per_minute=1))
    enter(gate, one)
    assert refusal(gate, one).status == 429
    for _ in range(5):
        enter(gate, two)


def test_budgets_are_of_those_keys_that_have_one() -> None:
    clock = Clock()
    one, _ = made("one", budget_tokens=1, budget_period="total")
    two, _ = made("two")
    assert gate_of(one, two, clock=clock).budgets() == {one.id: 0}


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 4))
def test_any_order_of_coming_and_going_keeps_to_the_limit(steps: list[bool], limit: int) -> None:
    key, token = made(max_concurrent=limit)
    gate = gate_of(key)
    inside: list[Holder] = []
    for comes in steps:
        if comes:
            try:
                inside.append(enter(gate, token))
            except GatewayError:
                assert len(inside) == limit
        elif inside:
            gate.leave(inside.pop(), 1, 1)
        assert len(inside) <= limit
