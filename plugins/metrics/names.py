"""Labels out of what clients write: not too many, not too long, and always text."""

from __future__ import annotations

import re
from typing import Final

OTHER: Final = "other"
"""What all names are called for which there is no room."""

LONGEST: Final = 128
"""Characters of a name."""

_KEY: Final = re.compile(r"hl-[0-9a-z]{4,32}-[\w-]{12,}")
"""What the plugin `keys` gives to clients, who may send it as a model's name."""


class Names:
    """The names that have a label of their own, `most` at most.

    A new one is taken in only where an engine took the request: else whoever can send a request could fill the room.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._labels: dict[str, str] = {"": ""}

    def label(self, name: str, *, served: bool) -> str:
        """The label of a name; `served`: an engine took the request."""
        label = self._labels.get(name)
        if label is not None:
            return label
        if not served or len(self._labels) > self._most or len(name) > LONGEST or _KEY.search(name):
            return OTHER
        # A lone surrogate would make every page from now on impossible to write.
        label = name.encode("utf-8", "replace").decode()
        self._labels[name] = label
        return label
