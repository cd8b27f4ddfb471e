from __future__ import annotations

from collections import Counter, deque

from hypothesis import given, settings
from hypothesis import strategies as st

from core.balance.line import Line

owners = st.sampled_from("abc")


def emptied(line: Line[str]) -> str:
    out = ""
    while (waiter := line.next()) is not None:
        out += waiter
    return out


def test_owners_take_turns_and_each_is_first_come_first_served() -> None:
    line: Line[str] = Line()
    for owner, waiter in (("a", "1"), ("a", "2"), ("a", "3"), ("b", "x"), ("c", "y"), ("b", "z")):
        line.join(owner, waiter)
    assert emptied(line) == "1xy2z3"


def test_who_comes_back_gets_the_last_turn() -> None:
    line: Line[str] = Line()
    line.join("a", "1")
    line.join("b", "x")
    assert line.next() == "1"
    line.join("a", "2")
    assert emptied(line) == "x2"


def test_leaving_is_told_once() -> None:
    line: Line[str] = Line()
    line.join("a", "1")
    assert not line.leave("b", "1")
    assert line.leave("a", "1")
    assert not line.leave("a", "1")
    assert (len(line), line.next()) == (0, None)


def test_the_greediest_owners_last_waiter_is_too_many() -> None:
    line: Line[str] = Line()
    assert line.surplus("b") is None
    line.join("a", "1")
    assert line.surplus("b") is None
    line.join("a", "2")
    assert line.surplus("a") is None
    assert line.surplus("b") == "2"
    assert emptied(line) == "1"


@settings(deadline=None)
@given(st.lists(owners, max_size=40), st.data())
def test_nobody_with_work_waits_for_more_than_one_of_each_other(arrivals: list[str], data: st.DataObject) -> None:
    line: Line[int] = Line()
    standing: dict[str, deque[int]] = {}
    turns: list[str] = []
    for number, owner in enumerate(arrivals):
        line.join(owner, number)
        standing.setdefault(owner, deque()).append(number)
        if data.draw(st.booleans()):
            waiter = line.next()
            assert waiter is not None
            turns.append(next(name for name, waiters in standing.items() if waiters and waiters[0] == waiter))
            standing[turns[-1]].popleft()
    while len(line):
        hungry = [name for name, waiters in standing.items() if waiters]
        served = Counter[str]()
        for _ in hungry:
            waiter = line.next()
            assert waiter is not None
            name = next(name for name in hungry if waiter in standing[name])
            assert standing[name].popleft() == waiter
            served[name] += 1
        assert served == Counter(hungry)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["join", "leave", "next", "surplus"]), owners), max_size=60))
def test_nobody_is_lost_or_doubled(moves: list[tuple[str, str]]) -> None:
    line: Line[int] = Line()
    here: dict[int, str] = {}
    for number, (move, owner) in enumerate(moves):
        if move == "join":
            line.join(owner, number)
            here[number] = owner
        elif move == "leave":
            mine = [waiter for waiter, name in here.items() if name == owner]
            assert line.leave(owner, mine[-1] if mine else -1) == bool(mine)
            here.pop(mine[-1] if mine else -1, None)
        else:
            found = line.next() if move == "next" else line.surplus(owner)
            assert found is None or here.pop(found)
            assert found is not None or move == "surplus" or not here
        assert len(line) == len(here)
    left = [line.next() for _ in range(len(line))]
    assert sorted(waiter for waiter in left if waiter is not None) == sorted(here)
