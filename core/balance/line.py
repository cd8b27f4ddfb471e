"""Who waits for a place, in whose turn: round robin over owners, first come first served within one."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Line(Generic[T]):
    """A line of waiters, each of which is hashable and stands in it once. Nothing here waits."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[T, None]] = {}
        """By owner, the one whose turn is next first; none is empty."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def join(self, owner: str, waiter: T) -> None:
        """Stand behind the owner's other waiters; an owner that has none gets the last turn."""
        self._owners.setdefault(owner, {})[waiter] = None
        self._size += 1

    def leave(self, owner: str, waiter: T) -> bool:
        """Go; whether the waiter was there."""
        waiters = self._owners.get(owner, {})
        if waiter not in waiters:
            return False
        del waiters[waiter]
        if not waiters:
            del self._owners[owner]
        self._size -= 1
        return True

    def next(self) -> T | None:
        """Take out the waiter whose turn it is; the owner's next turn comes after those of all others."""
        if not self._owners:
            return None
        owner = next(iter(self._owners))
        waiters = self._owners.pop(owner)
        waiter = next(iter(waiters))
        del waiters[waiter]
        if waiters:
            self._owners[owner] = waiters
        self._size -= 1
        return waiter

    def surplus(self, owner: str) -> T | None:
        """Take out the last waiter of the owner with the most, if it has two more than `owner`: its place is fairer
        given to a newcomer of `owner`'s. None: nobody has."""
        greedy = max(self._owners, key=lambda name: len(self._owners[name]), default=owner)
        waiters = self._owners.get(greedy, {})
        if len(waiters) < len(self._owners.get(owner, {})) + 2:
            return None
        waiter = next(reversed(waiters))
        self.leave(greedy, waiter)
        return waiter
