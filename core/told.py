"""What a worker tells the master of what it serves: all that a greeting needs."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    """The configuration's file, the models that clients may name, and what to try: a path, a model, and whether a key
    is wanted."""

    file: str
    models: tuple[str, ...]
    path: str
    model: str
    key: bool
