"""Why a file was not fetched, in words for the client."""

from __future__ import annotations

from typing import Final

import httpx

NO_ADDRESS: Final = "its host has no public address"
"""One sentence for a name that does not exist and for one that leads inside: what is inside is not told."""
CAUSE: Final = 200
"""Characters of a cause that the log tells."""


class FetchError(Exception):
    """A file was not fetched.

    The text is what the client is told of it: nothing that the fetched server said, and no address, is in it.
    """


class LimitError(FetchError):
    """A limit of the whole request was in the way: it says nothing about the file."""


class BusyError(LimitError):
    """So many other files were being fetched that this one's turn did not come in time."""


def cause_of(error: FetchError) -> str:
    """What was behind it on the network or in the system, for the log alone; "" where that is all there is to say."""
    cause = error.__cause__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    told = f"{type(cause).__name__}: {cause}" if isinstance(cause, OSError | httpx.HTTPError) else ""
    return told if len(told) <= CAUSE else f"{told[:CAUSE]}…"
