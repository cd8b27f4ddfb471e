"""Identities of requests, messages and tool calls."""

from __future__ import annotations

import random


def fresh_id(prefix: str) -> str:
    """The prefix and 24 hexadecimal digits, as the API's own ids have.

    They must be unique, no secrets: the generator is seeded by the system in each process, and asks it no more.
    """
    return f"{prefix}{random.getrandbits(96):024x}"
