"""What the errors of several backends come to: whether another one may be asked, and what the client is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import httpx

from core.errors import GatewayError, Kind, UpstreamError

_MOST_USEFUL: Final[tuple[Kind, ...]] = ("rate_limit", "overloaded", "timeout", "api")
"""The kinds of error, the one first that tells a client the most about what to do."""


def may_fail_over(error: UpstreamError) -> bool:
    """Whether another backend may do better: not where the request itself was refused."""
    return error.status == 429 or error.status >= 500


def is_unreachable(error: UpstreamError) -> bool:
    """Whether there was no connection to it, which says more than that it is overloaded."""
    return isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)


def verdict(errors: Sequence[GatewayError], waits: Iterable[float] = ()) -> GatewayError:
    """One error for all: the most useful one, with the soonest time after which something may have changed.

    `waits` are the seconds until each backend is asked again, 0 where they are not known; where none is, what the
    errors say counts. The error is a new one, whose cause is that of the one it tells.
    """
    if not errors:
        return GatewayError("no backend can be asked now", kind="overloaded", retry_after=1, should_retry=True)
    best = min(errors, key=_rank)
    told = [error.retry_after for error in errors if error.retry_after is not None]
    known = [wait for wait in waits if wait > 0] or [wait for wait in told if wait > 0]
    soonest = min(known, default=best.retry_after)
    again = any(error.should_retry is not False for error in errors)
    made = type(best)(
        best.message,
        kind=best.kind,
        status=best.status,
        retry_after=soonest,
        should_retry=True if again else best.should_retry,
        code=best.code,
    )
    made.__cause__ = best.__cause__
    return made


def _rank(error: GatewayError) -> int:
    return _MOST_USEFUL.index(error.kind) if error.kind in _MOST_USEFUL else len(_MOST_USEFUL)
