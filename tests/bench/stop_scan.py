"""What `stop_scan` costs for each piece of a stream: `python -m tests.bench.stop_scan`."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from core import Request, Text
from core.chat import FinishReason
from plugins.stop_scan.scanner import Scanner

WORDS = ("the", "of", "and", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are", "as", "with")
PIECES = 20_000


def stream() -> list[Text]:
    """Words as engines send them."""
    chance = random.Random(1)
    return [Text(f" {chance.choice(WORDS)}") for _ in range(PIECES)]


def cost(sequences: Sequence[str], deltas: Sequence[Text]) -> float:
    """Microseconds for one piece, what stands around the scan included; the best of some runs."""
    best = float("inf")
    for _ in range(5):
        scanner = Scanner(FinishReason(), Request("message"), sequences, ("text",)) if sequences else FinishReason()
        begin = time.perf_counter()
        for delta in deltas:
            scanner.feed({}, (delta,))
        best = min(best, time.perf_counter() - begin)
    return best / len(deltas) * 1e6


def costs() -> dict[str, float]:
    """What a piece costs, in microseconds, for some sets of stop sequences."""
    deltas = stream()
    cases: dict[str, list[str]] = {
        "none (no scan)": [],
        "1": ["\n\nHuman:"],
        "64, of one beginning": [f"\n\nHuman {number}:" for number in range(64)],
        "64, of many beginnings": [f"{chr(33 + number)}END{number}" for number in range(64)],
        "64, of 1,000 characters": [f"<{number}" + "x" * 1000 for number in range(64)],
        "1, begun at every word": [" the end of it all"],
        "64, begun at every word": [f" {word} {number} of it" for number, word in enumerate((WORDS * 4)[:64])],
    }
    return {name: cost(sequences, deltas) for name, sequences in cases.items()}


if __name__ == "__main__":
    for case, microseconds in costs().items():
        print(f"{case:26} {microseconds:6.2f} µs")
