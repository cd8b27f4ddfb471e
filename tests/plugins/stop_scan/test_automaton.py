from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.stop_scan.automaton import Automaton, Node

strings = st.lists(st.text("ab#", min_size=1, max_size=6), min_size=1, max_size=6)


def walk(automaton: Automaton, text: str) -> list[Node]:
    node, nodes = automaton.root, []
    for character in text:
        node = automaton.step(node, character)
        nodes.append(node)
    return nodes


@given(strings, st.text("ab#x", max_size=20))
def test_each_node_is_the_longest_beginning_and_knows_the_longest_string_there(wanted: list[str], text: str) -> None:
    for end, node in enumerate(walk(Automaton(wanted), text), 1):
        tails = [text[start:end] for start in range(end + 1)]
        assert node.depth == max(len(tail) for tail in tails if any(each.startswith(tail) for each in wanted))
        assert node.longest == max((len(each) for each in wanted if text[:end].endswith(each)), default=0)
        here = text[end - node.depth : end]
        assert node.last == (not any(each.startswith(here) and len(each) > len(here) for each in wanted))


@given(strings, st.text("ab#x", max_size=20))
def test_the_first_characters(wanted: list[str], text: str) -> None:
    found = Automaton(wanted).first.search(text)
    places = [at for at, character in enumerate(text) if any(each[0] == character for each in wanted)]
    assert (found.start() if found else None) == next(iter(places), None)


@pytest.mark.parametrize("odd", [*"]^-\\[&~|#", "\n", "]]", "^^", "--", "&&", "||", "~~", "[["])
def test_first_characters_that_mean_something_in_a_pattern(odd: str) -> None:
    first = Automaton([odd, "a", "z"]).first
    assert first.findall(f"b{odd[0]}my") == [odd[0]]


def test_only_what_the_text_walks_into_is_built() -> None:
    long = "x" * 1_000_000
    automaton = Automaton([f"{number}{long}" for number in range(10)])
    walk(automaton, "3xx no 4x")
    built, nodes = 0, [automaton.root]
    while nodes:
        node = nodes.pop()
        built += 1
        nodes += node.children.values()
    assert built == 6


def test_many_long_strings_that_begin_alike_cost_no_more_than_one() -> None:
    looked = 0

    class Counting(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            nonlocal looked
            looked += 1
            return super().__getitem__(key)

    automaton = Automaton(Counting("a" * 400 + f"{number:04}") for number in range(500))
    looked = 0
    nodes = walk(automaton, "a" * 400)
    assert nodes[-1].depth == 400
    assert looked < 400 * 5
    assert all(node.strings is automaton.root.strings for node in nodes)


def test_deep_fallbacks_need_no_deep_recursion() -> None:
    depth = sys.getrecursionlimit() * 2
    automaton = Automaton(["a" * size + "b" for size in range(1, depth)])
    *_, before, last = walk(automaton, "a" * (depth - 1) + "b")
    assert (before.depth, last.depth, last.longest) == (depth - 1, depth, depth)
