"""The passive health of one backend, as its attempts tell it: a breaker that is closed, cooling or half-open."""

from __future__ import annotations

import math
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
ENOUGH: Final = 3
"""So many more failures than successes begin a cool-down: one alone may be chance."""
CREDIT: Final = 3
"""So many failures at most are outweighed by the successes before them…"""
MEMORY: Final = 10.0
"""… and only for these seconds after the last of those."""
PROBE: Final = 30.0
"""Seconds that a probe keeps all others away; one that takes longer says nothing, and the next may try."""
_BUSY: Final = (429, 503, 529)
"""Statuses with which an upstream says itself that it takes no more."""

State = Literal["closed", "cooling", "half-open"]


class Health:
    """Whether one backend should be tried. `clock` gives seconds, `chance` a number from 0 up to 1.

    A cool-down begins at once where an upstream tells its time by `retry-after` with 429, 503 or 529. Else it begins
    when attempts mostly fail: a failure adds one to the balance, a success takes one away, and at `ENOUGH` it is time.
    So a quiet backend cools after three failures, a busy one that served well after six, and one that fails now and
    then does not. A connection that fails weighs as much as `ENOUGH` failures.

    After it one attempt is let through, the probe; what becomes of it closes the breaker or begins the next, longer
    cool-down. Refusals that are the client's own (400, say) are successes of the backend.
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
        self._balance = 0
        """Failures less successes, from `-CREDIT` up."""
        self._succeeded = -math.inf
        """When the last success was."""
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
            self._balance = max(-CREDIT, self._balance - 1)
            self._succeeded = self._clock()

    def _succeed(self, trial: Trial) -> None:
        # An answer takes longer than others take to fail: only the cool-downs since it began had no success between.
        self._cooled = min(self._cooled, self._era - trial.era)
        if self._heals(trial):
            self._error = None

    def _fail(self, trial: Trial, error: UpstreamError) -> None:
        self._error = _copy(error, error.retry_after)
        told, now = _told(error), self._clock()
        if self._until is None:
            self._count(trial, error, now)
            if self._balance >= ENOUGH or (told and error.status in _BUSY):
                self._cool(told)
        elif trial.era == self._era and now >= self._until:
            self._cool(told)
        elif told:  # of this cool-down's cause, in all likelihood: it makes it longer, not the next one
            self._until = max(self._until, now + told)
            self._told = True

    def _count(self, trial: Trial, error: UpstreamError, now: float) -> None:
        if trial.era != self._era:  # it began before the last cool-down, and says nothing of what came after
            return
        if now - self._succeeded > MEMORY:
            self._balance = max(0, self._balance)
        if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
            self._balance += ENOUGH
        else:  # an answer that broke off counted as a success when it began
            self._balance += 2 if trial.has_begun else 1

    def _cool(self, told: float) -> None:
        own = min(LONGEST, BASE * 2.0 ** min(self._cooled, 16)) * (1 + JITTER * (2 * self._chance() - 1))
        self._until = self._clock() + (told or own)
        self._told = bool(told)
        self._probe = None
        self._era += 1
        self._cooled += 1
        self._balance = 0

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
        if not self.has_begun:
            self.begun()
        if self._ends():
            self._health._succeed(self)  # noqa: SLF001

    def failed(self, error: UpstreamError) -> None:
        """The backend failed, or refused; a refusal that is the client's own counts as `won`."""
        if 400 <= error.status < 500 and error.status not in _BUSY:
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


def _told(error: UpstreamError) -> float:
    """Seconds that the upstream asked for; 0 when it did not."""
    wait = error.retry_after
    return min(wait, MAX) if wait is not None and wait > 0 else 0.0


def _copy(error: UpstreamError, retry_after: float | None) -> UpstreamError:
    """The same without its traceback, which would keep the request that it was raised for."""
    told = {"kind": error.kind, "status": error.status, "should_retry": error.should_retry, "code": error.code}
    return UpstreamError(error.message, retry_after=retry_after, **told)  # type: ignore[arg-type]
