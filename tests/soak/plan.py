"""What one request of the soak shall be: what is asked, what the upstream does to it, and how the client behaves.

A plan travels to the upstream inside the request's own message, so that both sides know what must come out.
"""

from __future__ import annotations

import json
import random
import zlib
from typing import Any, Final

import attrs

GOOD: Final = ("steady", "burst", "dribble", "large")
"""Answers that end well: pieces with pauses, all at once, bytes cut anywhere, some hundred kB."""
REFUSED: Final = {"429": 429, "500": 500, "503": 529, "hangup": 502, "down": 529}
"""Faults before the first byte, and the status that the client must get."""
BROKEN: Final = {"reset": 502, "half": 502, "error": 502, "close": 502, "silence": 504}
"""Faults in the middle, and the status where the client has been given nothing yet."""
CLIENTS: Final = ("reads", "slow", "leaves", "stalls")
ALPHABET: Final = 'abcdefgh  \n"\\éß漢字😀\u2028'
STREAMED: Final = "streamed"
"""The backend that is always asked to stream."""


@attrs.frozen
class Plan:
    """One request. `seed` makes its content, `pieces` and `size` measure it, `seconds` are those the upstream takes."""

    id: str
    seed: int
    kind: str
    backend: str
    stream: bool
    client: str
    content: str
    pieces: int
    size: int
    seconds: float
    again: bool
    """The client keeps its connection for the next request."""

    @property
    def broken_at(self) -> int | None:
        """The number of pieces before the fault in the middle, if there is one."""
        return random.Random(self.seed + 1).randrange(self.pieces + 1) if self.kind in BROKEN else None

    @property
    def body(self) -> bytes:
        """The request's JSON."""
        said = json.dumps(attrs.asdict(self))
        value: dict[str, Any] = {"model": f"{self.backend}.x", "max_tokens": 4096, "stream": self.stream}
        value["messages"] = [{"role": "user", "content": said}]
        if self.content == "tool":
            value["tools"] = [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]
        return json.dumps(value).encode()


def plan_of(request: Any) -> Plan:
    """The plan inside the request that the upstream got."""
    said = request["messages"][-1]["content"]
    return Plan(**json.loads(said if isinstance(said, str) else said[0]["text"]))


@attrs.frozen
class Piece:
    """A piece of the answer, `field` being "thinking", "text" or "arguments"."""

    field: str
    said: str


def pieces_of(plan: Plan) -> list[Piece]:
    """The answer's pieces in order; each carries the request's name, its own number and a checksum."""
    dice = random.Random(plan.seed)
    fields = {"text": ("text",), "thinking": ("thinking", "text"), "tool": ("thinking", "text", "arguments")}
    order = fields[plan.content]
    pieces = []
    for number in range(plan.pieces):
        field = order[number * len(order) // plan.pieces]
        filler = "".join(dice.choices(ALPHABET, k=plan.size))
        said = f"<{plan.id}:{number}:{zlib.crc32(filler.encode())}>{filler}"
        pieces.append(Piece(field, json.dumps(said)[1:-1] if field == "arguments" else said))
    return _as_json(pieces)


def _as_json(pieces: list[Piece]) -> list[Piece]:
    """The pieces of the arguments as one JSON object: opened before the first of them and closed after the last."""
    numbers = [number for number, piece in enumerate(pieces) if piece.field == "arguments"]
    if numbers:
        first, last = numbers[0], numbers[-1]
        pieces[first] = attrs.evolve(pieces[first], said='{"said": "' + pieces[first].said)
        pieces[last] = attrs.evolve(pieces[last], said=pieces[last].said + '"}')
    return pieces


def joined(pieces: list[Piece]) -> dict[str, str]:
    """All that was said, by field."""
    return {
        field: "".join(piece.said for piece in pieces if piece.field == field)
        for field in ("thinking", "text", "arguments")
    }


class Planner:
    """Makes plans; `late` is whether the backend that comes and goes may be asked, `pace` stretches all times."""

    def __init__(self, seed: int, pace: float = 1.0) -> None:
        self.late = False
        self._dice = random.Random(seed)
        self._pace = pace
        self._count = 0

    def next(self) -> Plan:
        """The next request's plan."""
        dice = self._dice
        self._count += 1
        client = dice.choices(CLIENTS, (80, 8, 10, 2))[0]
        kind = "large" if client == "stalls" else self._kind()
        pieces, size = (40, 4000 if client != "stalls" else 12_000) if kind == "large" else (dice.randint(3, 24), 12)
        return Plan(
            id=f"r{self._count}",
            seed=dice.randrange(1 << 40),
            kind=kind,
            backend=self._backend(kind),
            stream=client == "stalls" or dice.random() < 0.8,
            client=client,
            content=dice.choice(("text", "thinking", "tool")),
            pieces=pieces,
            size=size,
            seconds=dice.uniform(1.0, 8.0) * self._pace,
            again=client == "reads" and dice.random() < 0.5,
        )

    def _kind(self) -> str:
        good = self._dice.choices(GOOD, (60, 10, 25, 5))[0]
        return good if self._dice.random() < 0.7 else self._dice.choice((*REFUSED, *BROKEN))

    def _backend(self, kind: str) -> str:
        special = {"down": "down", "silence": "quick"}
        if kind in special:
            return special[kind]
        backend: str = self._dice.choice(("up", "up", STREAMED, *(("late",) if self.late else ())))
        return backend
