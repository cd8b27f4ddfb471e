from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugins.keys.window import WINDOW, Window, wait


def filled(*seconds: tuple[int, int]) -> Window:
    window = Window()
    for second, amount in seconds:
        window.add(second, amount)
    return window


def test_what_is_older_than_a_minute_does_not_count() -> None:
    window = filled((100, 2), (100, 1), (130, 4))
    assert [window.total(second) for second in (130, 159, 160, 189, 190)] == [7, 7, 4, 4, 0]
    assert window.seconds() == []


def test_there_is_room_below_the_limit() -> None:
    assert wait(3, filled((100, 2)), [], 100.5) == 0
    assert wait(2, filled((100, 2)), [], 100.5) == 59.5
    assert wait(2, filled((100, 1)), [(110, 1)], 120) == 40


def test_so_much_must_pass_that_enough_is_over() -> None:
    window = filled((100, 1), (110, 1), (120, 5), (130, 1))
    assert wait(8, window, [], 130) == 30
    assert wait(7, window, [], 130) == 40
    assert wait(2, window, [], 130) == 50
    assert wait(1, window, [], 130) == 60


def test_what_others_counted_before_or_will_count_later_is_no_matter() -> None:
    assert wait(1, Window(), [(10, 99), (300, 99)], 100) == 0


@given(
    st.lists(st.tuples(st.integers(0, 70), st.integers(1, 5)), max_size=30),
    st.lists(st.tuples(st.integers(0, 70), st.integers(1, 5)), max_size=30),
    st.integers(1, 40),
)
def test_after_the_wait_there_is_room_and_not_a_second_earlier(
    own: list[tuple[int, int]], others: list[tuple[int, int]], limit: int
) -> None:
    now = 70.25
    window = filled(*sorted(own))
    seconds = wait(limit, window, others, now)
    assert 0 <= seconds <= WINDOW
    if seconds:
        assert wait(limit, filled(*sorted(own)), others, now + seconds - 1) > 0
    assert wait(limit, window, others, now + seconds) == 0
