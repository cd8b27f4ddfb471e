from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from core.balance.budget import CAP, RetryBudget


def test_it_begins_full_and_is_spent() -> None:
    budget = RetryBudget()
    assert [budget.take() for _ in range(101)] == [True] * 100 + [False]


def test_two_requests_pay_for_one_retry() -> None:
    budget = RetryBudget()
    budget.tokens = 0.0
    budget.deposit()
    assert not budget.take()
    budget.deposit()
    assert budget.take()
    assert not budget.take()


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=300))
def test_retries_never_exceed_the_cap_and_half_of_the_requests(moves: list[bool]) -> None:
    budget, retries = RetryBudget(), 0
    for request in moves:
        if request:
            budget.deposit()
        else:
            retries += budget.take()
        assert 0 <= budget.tokens <= CAP
    assert retries <= CAP + 0.5 * sum(moves)
