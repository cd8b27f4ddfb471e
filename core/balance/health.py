"""The passive health of one backend, as its attempts tell it: a breaker that is closed, cooling or half-open."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, Literal

import httpx

from core.errors import UpstreamError

BASE: Final = 1.0
"""Seconds of the first cool-down; each further one without a success between is twice as long."""
LONGEST: Final = 60.0
"""Seconds of the longest cool-down that no upstream asked for."""
MAX: Final = 300.0
"""Seconds of the longest cool-down: an upstream that asks for more is tried again after these."""
JITTER: Final = 0.2
"""The part by which a cool-down that no upstream asked for is longer or shorter, so that workers keep no step."""
IN_A_ROW: Final = 3
"""Failures in a row that begin a cool-down, where one alone may be chance."""
PROBE: Final = 30.0
"""Seconds that a probe keeps all others away; one that takes longer says nothing, and the next may try."""
_AT_ONCE: Final = (429, 503, 529)
"""Statuses with which an upstream says itself that it takes no more."""

State = Literal["closed", "cooling", "half-open"]


class Health:
    """Whether one backend should be tried. `clock` gives seconds, `chance` a number from 0 up to 1.

    A failed connection, 429, 503 and 529 begin a cool-down at once, other failures when there are `IN_A_ROW`. After it
    one attempt is let through, the probe; what becomes of it closes the breaker or begins the next, longer cool-down.
    Refusals that are the client's own (400, say) are successes of the backend.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._until: float | None = None
        """When the cool-down ends, or did; None while closed."""
        self._era = 0
        """Counts the cool-downs: an attempt that is older than the present one cannot end it."""
        self._row = 0
        """Failures in a row of attempts without a piece of an answer, since the last one that had any."""
        self._broken = 0
        """Answers that broke off since the last whole one; they count beside those."""
        self._cooled = 0
        self._told = False
        self._probe: Trial | None = None
        self._probe_until = 0.0
        self._error: UpstreamError | None = None

    @property
    def state(self) -> State:
        """closed: all may try; cooling: nobody should; half-open: one may, and then it depends."""
        if self._until is None:
            return "closed"
        return "cooling" if self._clock() < self._until else "half-open"

    @property
    def last_error(self) -> UpstreamError | None:
        """Why it last failed, as an error of its own to raise; None after a success. It says how long to wait yet."""
        return None if self._error is None else _copy(self._error, self.remaining() or self._error.retry_after)

    @property
    def told(self) -> bool:
        """Whether the upstream itself asked for the present cool-down: then it is kept, whatever else there is."""
        return self._until is not None and self._told

    def may_try(self) -> bool:
        """Whether an attempt is welcome. It does not take the probe: `begin` does."""
        if self._until is None:
            return True
        now = self._clock()
        return now >= self._until and not self._probed(now)

    def remaining(self) -> float:
        """Seconds until an attempt is welcome; 0 when one is. While a probe is out, a guess."""
        if self._until is None:
            return 0.0
        now = self._clock()
        if now < self._until:
            return self._until - now
        return BASE if self._probed(now) else 0.0

    def begin(self) -> Trial:
        """An attempt begins, welcome or not; it is the probe where one is due."""
        trial = Trial(self, self._era)
        if self._until is not None and self.may_try():
            self._probe, self._probe_until = trial, self._clock() + PROBE
        return trial

    def _probed(self, now: float) -> bool:
        return self._probe is not None and now < self._probe_until

    def _heals(self, trial: Trial) -> bool:
        """Close, if the attempt can say that the backend is back; whether the breaker is closed now."""
        if self._until is not None and trial.era != self._era:
            return False
        self._until = self._probe = None
        return True

    def _begun(self, trial: Trial) -> None:
        # A failure takes no time and an answer does: of many at once a few would else fail before one is whole.
        if self._heals(trial):
            self._row = 0

    def _succeed(self, trial: Trial) -> None:
        # An answer takes longer than others take to fail: only the cool-downs since it began had no success between.
        self._cooled = min(self._cooled, self._era - trial.era)
        if self._heals(trial):
            self._row = self._broken = 0
            self._error = None

    def _fail(self, trial: Trial, error: UpstreamError) -> None:
        self._error = _copy(error, error.retry_after)
        told = _told(error)
        if self._until is None:
            if trial.has_begun:
                self._broken += 1
            else:
                self._row += 1
            if self._row + self._broken >= IN_A_ROW or _at_once(error):
                self._cool(told)
            return
        now = self._clock()
        if trial.era == self._era and now >= self._until:
            self._cool(told)
        elif told:  # of this cool-down's cause, in all likelihood: it makes it longer, not the next one
            self._until = max(self._until, now + told)
            self._told = True

    def _cool(self, told: float) -> None:
        own = min(LONGEST, BASE * 2.0 ** min(self._cooled, 16)) * (1 + JITTER * (2 * self._chance() - 1))
        self._until = self._clock() + (told or own)
        self._told = bool(told)
        self._probe = None
        self._era += 1
        self._cooled += 1
        self._row = self._broken = 0

    def _release(self, trial: Trial) -> None:
        if self._probe is trial:
            self._probe = None


class Trial:
    """One attempt at a backend, which tells its health how it went: by `won`, `failed` or `left`, the first of them."""

    __slots__ = ("_health", "_over", "era", "has_begun")

    def __init__(self, health: Health, era: int) -> None:
        self.era = era
        self.has_begun = False
        self._health = health
        self._over = False

    def begun(self) -> None:
        """The answer has begun, which ends a cool-down: others need not wait for its end. May be left out."""
        if not self._over:
            self.has_begun = True
            self._health._begun(self)  # noqa: SLF001  the two are one

    def won(self) -> None:
        """The backend did its work."""
        if self._ends():
            self._health._succeed(self)  # noqa: SLF001

    def failed(self, error: UpstreamError) -> None:
        """The backend failed, or refused; a refusal that is the client's own counts as `won`."""
        if 400 <= error.status < 500 and error.status not in _AT_ONCE:
            self.won()
        elif self._ends():
            self._health._fail(self, error)  # noqa: SLF001

    def left(self) -> None:
        """The client went before anything could be said of the backend; another may be the probe."""
        self._ends()

    def _ends(self) -> bool:
        if self._over:
            return False
        self._over = True
        self._health._release(self)  # noqa: SLF001
        return True


def _at_once(error: UpstreamError) -> bool:
    return error.status in _AT_ONCE or isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)


def _told(error: UpstreamError) -> float:
    """Seconds that the upstream asked for; 0 when it did not."""
    wait = error.retry_after
    return min(wait, MAX) if wait is not None and wait > 0 else 0.0


def _copy(error: UpstreamError, retry_after: float | None) -> UpstreamError:
    """The same without its traceback, which would keep the request that it was raised for."""
    told = {"kind": error.kind, "status": error.status, "should_retry": error.should_retry, "code": error.code}
    return UpstreamError(error.message, retry_after=retry_after, **told)  # type: ignore[arg-type]
