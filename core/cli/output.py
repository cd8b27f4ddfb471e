"""Standard output of the command: that there is one, and one line instead of a trace when it takes nothing."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


@contextmanager
def written() -> Iterator[None]:
    """Within it the command runs; a reader that has gone (`| head`) ends it quietly, by what the command is made with.

    Raises SystemExit with one line where standard output is closed, or takes nothing more.
    """
    if sys.stdout is None:
        # Whatever is opened next, a socket for example, would be taken for it.
        raise SystemExit("standard output is closed; send it to a file or to /dev/null")
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise SystemExit(given_up(error)) from None


def given_up(error: OSError) -> str:
    """The line for an error of standard output, of which nothing more is asked.

    What is kept for it is thrown away: the interpreter would try again at its end, and complain.
    """
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    return f"standard output cannot be written: {(error.strerror or str(error)).lower()}"
