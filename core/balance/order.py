"""The order in which candidates are tried."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final

from core.route import Candidate

_BITS: Final = 52
"""Of a hash: as many as leave a float between 0 and 1 exact, and neither of the two."""


def ordered(candidates: Sequence[Candidate], key: str, chance: Callable[[], float] = random.random) -> list[Candidate]:
    """The candidates, lowest `priority` first; within one, by weighted rendezvous hashing of `key`.

    One key has one order, whatever the order they are given in; a candidate that goes takes only its own keys along,
    and of many keys each is first for a share as large as its weight. With key "" chance stands for the hash: `chance`
    gives a number from 0 up to 1.
    """

    def place(candidate: Candidate) -> tuple[int, float]:
        part = _hash(key, candidate) if key else 1.0 - chance()
        # An exponential time to wait at the rate of the weight: the least of several is each one's by its share.
        wait = -math.log(part) / candidate.weight if candidate.weight > 0 else math.inf
        return candidate.priority, wait

    return sorted(candidates, key=place)


def _hash(key: str, candidate: Candidate) -> float:
    """A number between 0 and 1 that looks like chance and is the same in every process."""
    digest = blake2b(digest_size=8)
    for text in (key, candidate.backend, candidate.model):
        part = text.encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8) + part)
    return ((int.from_bytes(digest.digest()) >> (64 - _BITS)) + 0.5) / (1 << _BITS)
