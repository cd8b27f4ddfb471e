"""The two tables of docs/mapping.md that say it backend by backend: each cell is what the wire says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core.testing import UpstreamAnswer
from tests.mapping.wire import ASK, BACKENDS, HI, SENT_F, F, Wire

PAGE = Path(__file__).parents[2] / "docs" / "mapping.md"
NOTHING = "–"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
TALK = [
    HI,
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "A"}],
    },
    {"role": "user", "content": "Go"},
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_fields(wire: Wire, backend: str) -> None:
    def sent(**fields: Any) -> dict[str, Any]:
        return wire.sent(backend, tools=[F], tool_choice={"type": "auto"}, **fields)

    def choice(mode: str, **fields: Any) -> str:
        body = wire.sent(backend, tools=[F, {**F, "name": "g"}], tool_choice={"type": mode, **fields})
        if "tools" not in body:
            return "no tools sent"
        alone = ", that tool alone" if len(body["tools"]) == 1 else ""
        given = body.get("tool_choice", NOTHING)
        return ("by name" if isinstance(given, dict) else f"`{given}`") + alone

    limit = next(name for name in sent() if name.startswith("max_"))
    silent = sent(tool_choice={"type": "auto", "disable_parallel_tool_use": True}) if False else None
    assert silent is None
    row(
        "fields",
        backend,
        f"`{limit}`",
        *(_yes(field in sent(**{field: 1})) for field in ("temperature", "top_k")),
        _most_stops(wire, backend),
        choice("any"),
        choice("tool", name="g"),
        choice("none"),
    )


def _most_stops(wire: Wire, backend: str) -> str:
    for count in (4, 5, 16, 32):
        try:
            wire.sent(backend, stop_sequences=[str(number) for number in range(count + 1)])
        except AssertionError:
            return str(count)
    return "any"


def _yes(holds: bool) -> str:
    return "yes" if holds else NOTHING


def row(table: str, *cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


@pytest.mark.parametrize("backend", BACKENDS)
def test_thinking(wire: Wire, backend: str) -> None:
    plain = wire.sent(backend)

    def more(**fields: Any) -> str:
        body = wire.sent(backend, max_tokens=256, **fields)
        return _json({name: value for name, value in body.items() if plain.get(name) != value})

    efforts = [wire.sent(backend, output_config={"effort": effort}) for effort in EFFORTS]
    turn = wire.messages(*TALK, backend=backend)[1]
    row(
        "thinking",
        backend,
        " ".join(str(body.get("reasoning_effort", body.get("reasoning"))) for body in efforts),
        more(thinking={"type": "enabled", "budget_tokens": 4096}),
        more(thinking={"type": "adaptive"}),
        more(thinking={"type": "disabled"}),
        _json(turn),
    )


def _json(value: Any) -> str:
    return f"`{json.dumps(value, separators=(',', ':'))[1:-1]}`" if value else NOTHING
