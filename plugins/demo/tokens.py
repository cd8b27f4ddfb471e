"""The demo engine's tokens: a word of at most 12 letters or digits, or one other sign, each with the space before it.

Space at the end of a text is one token. The tokens of a text, joined, are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(r"\s*(?:\w{1,12}|[^\w\s])|\s+")


def split(text: str) -> list[str]:
    """The tokens of a text."""
    return _TOKEN.findall(text)


def count(text: str) -> int:
    """How many tokens a text has."""
    return sum(1 for _ in _TOKEN.finditer(text))


def strings(value: Any) -> Iterator[str]:
    """Every string and every key in a JSON value, of any depth, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(part for pair in reversed(item.items()) for part in reversed(pair))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
