"""Why a file was not fetched, in words for the client."""

from __future__ import annotations

from typing import Final


class FetchError(Exception):
    """A file was not fetched.

    The text is what the client is told of it: nothing that the fetched server said, and no address, is in it.
    """


class LimitError(FetchError):
    """A limit of the whole request was in the way: it says nothing about the file."""


class BusyError(LimitError):
    """So many other files were being fetched that this one's turn did not come in time."""


NO_ADDRESS: Final = "its host has no public address"
"""One sentence for a name that does not exist and for one that leads inside: what is inside is not told."""
