"""The recorded answers of all engines, and what may become of them on their way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from tests.fuzz.mutations import bytes_of, values_of, written

WIRE: Final = Path(__file__).parent.parent / "wire"
OTHERS: Final = {"llama_cpp_smollm2": "llama_cpp", "llama_cpp_python": "openai"}
"""Folders that are not named after their plugin."""
LONGEST: Final = 40_000
"""Bytes; the few longer recordings show nothing more."""


def recordings() -> dict[str, list[Path]]:
    """The recordings by plugin."""
    found: dict[str, list[Path]] = {}
    for path in sorted(WIRE.glob("*/*")):
        if not path.name.endswith(".request.json") and path.stat().st_size <= LONGEST:
            found.setdefault(OTHERS.get(path.parent.name, path.parent.name), []).append(path)
    return found


def status_of(path: Path) -> int:
    """The status that the answer came with, which is part of its name."""
    word = path.name.split(".")[1]
    return int(word) if word.isdigit() else 200


def mutated(path: Path) -> st.SearchStrategy[bytes]:
    """The recording with faults in its bytes, or in its JSON values."""
    data = path.read_bytes()
    return bytes_of(data) | _values_in(data)


@st.composite
def _values_in(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    for number in range(at, at + len(lines)):
        line = lines[number % len(lines)]
        prefix = b"data: " if line.startswith(b"data: ") else b""
        value = _json(line.removeprefix(prefix))
        if isinstance(value, dict):
            lines[number % len(lines)] = prefix + written(draw(values_of(value)))
            break
    else:
        value = _json(data)
        return written(draw(values_of(value))) if isinstance(value, dict) else data
    return b"\n".join(lines)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
