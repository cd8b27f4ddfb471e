from __future__ import annotations

import httpx
import pytest

from core.errors import GatewayError, Kind, UpstreamError
from core.verdict import is_unreachable, may_fail_over, verdict


@pytest.mark.parametrize(
    ("status", "may"), [(400, False), (404, False), (408, False), (413, False), (429, True), (500, True), (529, True)]
)
def test_another_may_be_asked_where_the_backend_failed_and_not_where_the_request_was_refused(
    status: int, may: bool
) -> None:
    assert may_fail_over(UpstreamError("x", status=status)) is may


ORDER: list[Kind] = ["rate_limit", "overloaded", "timeout", "api", "billing"]


@pytest.mark.parametrize("kind", ORDER)
def test_the_most_useful_kind_is_told(kind: Kind) -> None:
    errors = [UpstreamError(each, kind=each) for each in reversed(ORDER[ORDER.index(kind) :])]
    made = verdict(errors)
    assert (made.kind, made.message, made.status, type(made)) == (kind, kind, errors[-1].status, UpstreamError)
    assert made is not errors[-1]


def test_of_one_kind_the_first_is_told() -> None:
    assert verdict([UpstreamError("one"), UpstreamError("two")]).message == "one"


@pytest.mark.parametrize(
    ("told", "waits", "soonest"),
    [
        ([30, None, 4], [], 4),
        ([30], [30, 0.5], 0.5),
        ([1], [3], 3),
        ([None], [0, 0], None),
        ([0], [], 0),
        ([0, 9], [0], 9),
    ],
)
def test_the_soonest_time_is_told(told: list[float | None], waits: list[float], soonest: float | None) -> None:
    errors = [UpstreamError("x", kind="rate_limit", retry_after=each) for each in told]
    assert verdict(errors, waits).retry_after == soonest


@pytest.mark.parametrize(
    ("told", "again"), [([None], True), ([False, None], True), ([False, True], True), ([False, False], False)]
)
def test_it_may_be_tried_again_where_one_of_them_may(told: list[bool | None], again: bool) -> None:
    assert verdict([UpstreamError("x", should_retry=each) for each in told]).should_retry is again


def test_code_and_cause_go_along() -> None:
    error = GatewayError("x", kind="overloaded", code="c")
    error.__cause__ = OSError("refused")
    made = verdict([UpstreamError("y"), error])
    assert (made.code, made.__cause__) == ("c", error.__cause__)


def test_where_nothing_is_known_it_is_the_gateways_own_word() -> None:
    made = verdict([])
    assert (made.kind, made.status, made.retry_after, made.should_retry) == ("overloaded", 529, 1, True)


@pytest.mark.parametrize(
    ("cause", "told"),
    [(httpx.ConnectError("x"), True), (httpx.ConnectTimeout("x"), True), (httpx.ReadError("x"), False), (None, False)],
)
def test_a_backend_that_is_not_there_is_no_overloaded_one(cause: Exception | None, told: bool) -> None:
    error = UpstreamError("the upstream cannot be reached", kind="overloaded")
    error.__cause__ = cause
    assert is_unreachable(error) is told
