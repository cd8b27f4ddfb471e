from __future__ import annotations

from datetime import UTC, datetime

from plugins.keys.ledger import Counts
from plugins.keys.limits import Limits
from plugins.keys.shown import key_value, keys_text, table, usage_text
from plugins.keys.usage import KeyUsage
from tests.plugins.keys.samples import made

MOMENT = datetime(2027, 1, 31, tzinfo=UTC)


def test_keys_are_lines_without_hash() -> None:
    full, _ = made("full", models=("a", "b-*"), requests_per_minute=1000, max_concurrent=2, budget_tokens=5)
    old, _ = made("old", revoked=MOMENT, expires=MOMENT, budget_tokens=7, budget_period="total")
    text = keys_text([full, old], Limits(tokens_per_minute=9), 0)
    heads, first, second = text.splitlines()
    assert heads.split() == ["id", "name", "state", "models", "limits", "expires"]
    limits = "1,000 requests/min, 9 tokens/min, 2 at once, 5 tokens/month"
    assert first == f"{full.id}  full  in use   a b-*   {limits}  -"
    assert second.split() == [
        old.id,
        "old",
        "revoked",
        "all",
        *["9", "tokens/min,", "7", "tokens", "in", "all"],
        "2027-01-31T00:00:00Z",
    ]
    assert full.sha256 not in text
    assert keys_text([], Limits(), 0) == "no keys"


def test_a_key_as_json() -> None:
    key, _ = made("a", created=MOMENT, expires=MOMENT)
    value = key_value(key, Limits(max_concurrent=3), MOMENT.timestamp())
    assert value == {
        "id": key.id,
        "name": "a",
        "state": "expired",
        "created": "2027-01-31T00:00:00Z",
        "expires": "2027-01-31T00:00:00Z",
        "models": (),
        "requests_per_minute": 0,
        "tokens_per_minute": 0,
        "max_concurrent": 3,
        "budget_tokens": 0,
        "budget_period": "month",
    }


def test_usage() -> None:
    key, _ = made("a")
    text = usage_text([KeyUsage(key, Counts(1234, 5, 6, 7), 100, "day", 13), KeyUsage(key, Counts(), 0, "month", 0)])
    first, second = text.splitlines()[1:]
    assert first.split() == ["a", key.id, "1,234", "5", "6", "7", "13", "of", "100", "(day)"]
    assert second.split() == ["a", key.id, "0", "0", "0", "0", "-"]
    assert usage_text([]) == "no keys"


def test_columns_are_as_wide_as_their_widest() -> None:
    assert table(("a", "b"), [("long", "x"), ("y", "z")]) == "a     b\nlong  x\ny     z"
