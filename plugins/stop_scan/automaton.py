"""The automaton of Aho and Corasick over a set of strings, made as far as the text has walked into it.

A character of the text costs the same whatever the number and the length of the strings; of a string that the text
never comes near, nothing is built.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import attrs


@attrs.define(eq=False)
class Node:
    """A beginning that some of the strings share: their first `depth` characters.

    `strings` are all there are, sorted; those that begin so stand from `low` up to, not including, `high`. `longest` is
    the length of the longest string that ends where this beginning ends (0: none does); `fallback` is the longest other
    beginning that this one ends in, None at the root. `last` tells that no string goes on from here.
    """

    depth: int
    strings: Sequence[str]
    low: int
    high: int
    fallback: Node | None = None
    longest: int = 0
    children: dict[str, Node] = attrs.field(factory=dict)
    _branches: dict[str, tuple[int, int]] | None = None

    @property
    def last(self) -> bool:
        """Whether no string is longer than this beginning."""
        return not self._branch()

    def grow(self, character: str) -> Node | None:
        """A new child, which has no fallback yet; None when no string goes on with that character."""
        branch = self._branch().get(character)
        if branch is None:
            return None
        self.children[character] = child = Node(self.depth + 1, self.strings, *branch)
        return child

    def link(self, fallback: Node) -> None:
        """Set the fallback, and with it the strings that end here."""
        self.fallback = fallback
        self.longest = self.depth if self._ends() else fallback.longest

    def _ends(self) -> bool:
        """Whether one of the strings is just this beginning: it comes first among those that begin alike."""
        return len(self.strings[self.low]) == self.depth

    def _branch(self) -> dict[str, tuple[int, int]]:
        """The strings that go on from here, by their next character: strings that go on alike cost no more than one."""
        if self._branches is None:
            self._branches = {}
            depth, strings, at = self.depth, self.strings, self.low + self._ends()
            while at < self.high:
                character, end = strings[at][depth], self.high
                if strings[end - 1][depth] != character:
                    end = bisect_right(strings, character, at, end, key=lambda string: string[depth])
                self._branches[character] = (at, end)
                at = end
        return self._branches


class Automaton:
    """The automaton of some strings, none of them empty. `first` finds the characters that they begin with."""

    def __init__(self, strings: Iterable[str]) -> None:
        ordered = tuple(sorted(set(strings)))
        self.root = Node(0, ordered, 0, len(ordered))
        self.first = re.compile(f"[{''.join(re.escape(character) for character in sorted({s[0] for s in ordered}))}]")

    def step(self, node: Node, character: str) -> Node:
        """The longest beginning that the text ends in once the character has followed `node`."""
        grown: list[Node] = []
        at: Node | None = node
        while at is not None:
            child = at.children.get(character)
            if child is not None:
                break
            child = at.grow(character)
            if child is not None:
                grown.append(child)
            at = at.fallback
        else:
            child = self.root
        # Each new node falls back on the next shorter one, so the shortest is linked first.
        for new in reversed(grown):
            new.link(child or self.root)
            child = new
        return child or self.root
