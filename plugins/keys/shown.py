"""Keys and what they used, as tables for people and as values for JSON; no hash is in either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from plugins.keys.entry import Key
from plugins.keys.limits import Limits
from plugins.keys.moments import text_of
from plugins.keys.usage import KeyUsage


def key_value(key: Key, defaults: Limits, now: float) -> dict[str, Any]:
    """One key with all its limits, as JSON."""
    moments = {name: text_of(each) for name in ("created", "expires", "revoked") if (each := getattr(key, name))}
    state = key.fault(now) or "in use"
    return {"id": key.id, "name": key.name, "state": state, **moments, **attrs.asdict(key.limits(defaults))}


def keys_text(keys: Iterable[Key], defaults: Limits, now: float) -> str:
    """All keys, a line each."""
    rows = [_row(key, key.limits(defaults), now) for key in keys]
    return table(("id", "name", "state", "models", "limits", "expires"), rows) if rows else "no keys"


def usage_text(usages: Iterable[KeyUsage]) -> str:
    """What all used, a line each."""
    rows = [
        (
            each.key.name,
            each.key.id,
            *(f"{getattr(each.counts, name):,}" for name in ("requests", "refused", "input", "output")),
            f"{each.spent:,} of {each.budget:,} ({each.period})" if each.budget else "-",
        )
        for each in usages
    ]
    heads = ("name", "id", "requests", "over limit", "input tokens", "output tokens", "budget")
    return table(heads, rows) if rows else "no keys"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns side by side."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _row(key: Key, limits: Limits, now: float) -> tuple[str, ...]:
    told = [
        (limits.requests_per_minute, "requests/min"),
        (limits.tokens_per_minute, "tokens/min"),
        (limits.max_concurrent, "at once"),
        (
            limits.budget_tokens,
            "tokens in all" if limits.budget_period == "total" else f"tokens/{limits.budget_period}",
        ),
    ]
    words = ", ".join(f"{number:,} {what}" for number, what in told if number) or "-"
    expires = text_of(key.expires) if key.expires is not None else "-"
    return (key.id, key.name, key.fault(now) or "in use", " ".join(limits.models) or "all", words, expires)
