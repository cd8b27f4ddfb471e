from __future__ import annotations

import pytest

from core import Text, Thinking, ToolUse
from plugins.anthropic.arrange import Piece
from plugins.anthropic.events import DELTA_END, END, PIECE_TYPES, PING, delta_prefix, event, skeleton
from tests.plugins.anthropic.folding import events


def test_an_event_is_named_by_its_type() -> None:
    assert event({"type": "x", "a": 1}) == b'event: x\ndata: {"type":"x","a":1}\n\n'


def test_the_constant_events() -> None:
    assert events(PING + END) == [{"type": "ping"}, {"type": "message_stop"}]


@pytest.mark.parametrize("kind", [Text, Thinking, ToolUse])
def test_a_delta_in_three_parts(kind: type[Piece]) -> None:
    name, field = PIECE_TYPES[kind]
    (found,) = events(delta_prefix(3, name, field) + b'"x"' + DELTA_END)
    assert found["index"] == 3
    assert found["delta"] == {"type": name.decode(), field.decode(): "x"}


@pytest.mark.parametrize(
    ("piece", "block"),
    [
        (Text("x"), {"type": "text", "text": ""}),
        (Thinking("x"), {"type": "thinking", "thinking": "", "signature": ""}),
        (ToolUse(0, "{}", "i", "n"), {"type": "tool_use", "id": "i", "name": "n", "input": {}}),
    ],
)
def test_a_block_starts_empty(piece: Piece, block: object) -> None:
    assert skeleton(piece) == block
