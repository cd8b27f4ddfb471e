"""The gate: whose key a request carries, whether it may come in, and what it used when it leaves."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import attrs

from core import GatewayError, HTTPRequest, Record
from plugins.keys.entry import Key
from plugins.keys.ledger import Counts, Ledger
from plugins.keys.limits import PERIODS, Limits
from plugins.keys.moments import period_end, period_start
from plugins.keys.presented import presented, refused
from plugins.keys.token import NOBODY
from plugins.keys.window import Window, wait

SHORT: Final = 60.0
"""Seconds that a client may well wait before it tries again by itself."""
LATER: Final = 1.0
"""Seconds after which a request over the limit of concurrency may come again."""


class NotInUseError(Exception):
    """A key that was revoked, or has expired: for the log, for the client hears of neither."""


@attrs.define(eq=False)
class Use:
    """What one key did in the last minute in this process."""

    requests: Window = attrs.field(factory=Window)
    tokens: Window = attrs.field(factory=Window)


@attrs.frozen(eq=False)
class Holder:
    """A key with its limits and its use."""

    key: Key
    limits: Limits
    use: Use


@attrs.define(eq=False)
class Gate:
    """Lets requests in and out. The keys may be replaced by another thread at any time; all else is of one thread.

    `clock` gives Unix time, for budgets and expiry; `steady` the system's monotonic time, for rates: a clock that is
    set changes none of them.
    """

    ledger: Ledger = attrs.field(factory=Ledger)
    running: Counter[str] = attrs.field(factory=Counter)
    """Requests that run, by key; a gate that takes another's place takes them over."""
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _holders: Mapping[str, Holder] = attrs.field(init=False, factory=dict)

    def replace(self, keys: Iterable[Key], defaults: Limits) -> None:
        """These are the keys from now on. What the old ones of the same id did still counts."""
        before = self._holders
        uses = {name: holder.use for name, holder in before.items()}
        self._holders = {key.id: Holder(key, key.limits(defaults), uses.get(key.id) or Use()) for key in keys}

    def budgets(self) -> dict[str, int]:
        """By key that has a budget, when its period began."""
        now = self.clock()
        starts = {period: period_start(period, now) for period in PERIODS}
        found = list(self._holders.values())
        return {each.key.id: starts[each.limits.budget_period] for each in found if each.limits.budget_tokens}

    def enter(self, http: HTTPRequest, record: Record) -> Holder:
        """Let a request in, which must `leave` again; its record gets the key's name. Raises GatewayError: 401, 429."""
        token = presented(http)
        holder = self._holders.get(token.id)
        known = token.matches(holder.key.sha256 if holder is not None else NOBODY)
        if holder is None or not known:
            raise refused()
        record.key = holder.key.name
        now, steady = self.clock(), self.steady()
        if fault := holder.key.fault(now):
            raise refused() from NotInUseError(f"the key {holder.key.name!r} is {fault}")
        over = max(self._over(holder, now, steady), key=_wait, default=None)
        if over is not None:
            self.ledger.count(holder.key.id, now, steady, Counts(refused=1))
            raise over
        self.running[holder.key.id] += 1
        holder.use.requests.add(int(steady), 1)
        self.ledger.count(holder.key.id, now, steady, Counts(requests=1))
        return holder

    def leave(self, holder: Holder, input_tokens: int, output_tokens: int) -> None:
        """A request is over, and took so many tokens."""
        self._count_out(holder.key.id)
        if input_tokens or output_tokens:
            steady = self.steady()
            holder.use.tokens.add(int(steady), input_tokens + output_tokens)
            counts = Counts(input=input_tokens, output=output_tokens)
            self.ledger.count(holder.key.id, self.clock(), steady, counts)

    def _count_out(self, name: str) -> None:
        self.running[name] -= 1
        if not self.running[name]:
            del self.running[name]

    def _over(self, holder: Holder, now: float, steady: float) -> Iterator[GatewayError]:
        """An error for each limit that is reached."""
        limits, use, name = holder.limits, holder.use, holder.key.id
        if limits.max_concurrent and self.running[name] >= limits.max_concurrent:
            yield _error(f"max_concurrent: this key may have {limits.max_concurrent} requests at once", LATER)
        if limit := limits.requests_per_minute:
            seconds = wait(limit, use.requests, self.ledger.others(name, "requests"), steady)
            if seconds:
                yield _error(f"requests_per_minute: this key may send {limit} requests a minute", seconds)
        if limit := limits.tokens_per_minute:
            seconds = wait(limit, use.tokens, self.ledger.others(name, "tokens"), steady)
            if seconds:
                yield _error(f"tokens_per_minute: this key may use {limit} tokens a minute", seconds)
        if limit := limits.budget_tokens:
            period = limits.budget_period
            if self.ledger.spent(name, period_start(period, now)) >= limit:
                end = period_end(period, now)
                span = "in all" if end is None else f"a {period}"
                yield _error(f"budget_tokens: this key may use {limit} tokens {span}", end and end - now)


def _error(message: str, seconds: float | None) -> GatewayError:
    short = seconds is not None and seconds <= SHORT
    return GatewayError(message, kind="rate_limit", retry_after=seconds, should_retry=short)


def _wait(error: GatewayError) -> float:
    return error.retry_after if error.retry_after is not None else float("inf")
