from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plugins.keys.entry import EntryError, checked_name, key_of
from plugins.keys.limits import Limits
from tests.plugins.keys.samples import made

TABLE = {"id": "0123456789", "name": "ci", "sha256": "a" * 64}
MOMENT = datetime(2027, 1, 31, tzinfo=UTC)


def test_a_key_is_read_back_as_it_was_written() -> None:
    key, _ = made("all@x", models=("a", "b-*"), budget_tokens=5, budget_period="day", expires=MOMENT, created=MOMENT)
    assert key_of(key.table()) == key


def test_what_a_key_does_not_say_is_the_default_and_0_is_no_limit() -> None:
    key = key_of({**TABLE, "requests_per_minute": 0, "max_concurrent": 2, "models": None})
    limits = key.limits(Limits(("m",), 5, 6, 7, 8, "day"))
    assert limits == Limits(("m",), 0, 6, 2, 8, "day")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "A-B"}, "'id' is needed"),
        ({"id": None}, "'id' is needed"),
        ({"name": ""}, "'name' is needed"),
        ({"name": "two words"}, "'name' is needed"),
        ({"name": "x" * 65}, "'name' is needed"),
        ({"name": "a\n"}, "'name' is needed"),
        ({"sha256": "A" * 64}, "'sha256' is needed"),
        ({"sha256": "a" * 63}, "'sha256' is needed"),
        ({"expires": "soon"}, "'expires' is a date and time"),
        ({"revoked": True}, "'revoked' is a date and time"),
        ({"requests_per_minute": -1}, "'requests_per_minute' is a whole number"),
        ({"tokens_per_minute": 1.5}, "'tokens_per_minute' is a whole number"),
        ({"max_concurrent": True}, "'max_concurrent' is a whole number"),
        ({"budget_tokens": 10**30}, "'budget_tokens' is a whole number"),
        ({"budget_period": "year"}, "'budget_period' is one of day, week, month, total"),
        ({"budget_period": ["day"]}, "'budget_period' is one of"),
        ({"models": "claude-*"}, "'models' is a list"),
        ({"models": [1]}, "'models' is a list"),
        ({"models": [""]}, "'models' is a list of models' names or globs, none of them empty"),
        ({"models": ["\udcff"]}, "'models' is a list"),
        ({"modles": []}, "'modles' is no field of a key; these are: id, name"),
    ],
)
def test_a_wrong_entry_names_its_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(EntryError, match=said) as caught:
        key_of({**TABLE, **changes})
    assert "a" * 64 not in str(caught.value)


def test_an_entry_is_an_object() -> None:
    with pytest.raises(EntryError, match="is no object"):
        key_of(["ci"])


def test_a_key_is_in_use_until_it_is_revoked_or_expires() -> None:
    key, _ = made(expires=MOMENT)
    end = MOMENT.timestamp()
    assert [key.fault(now) for now in (end - 1, end, end + 1)] == ["", "expired", "expired"]
    revoked, _ = made(revoked=MOMENT + timedelta(days=9))
    assert revoked.fault(0) == "revoked"


def test_names() -> None:
    assert checked_name("team.a_b@c-1") == "team.a_b@c-1"
    with pytest.raises(EntryError, match="'name' is needed"):
        checked_name("-x")


def test_no_repr_shows_the_hash() -> None:
    key, _ = made()
    assert key.sha256 not in repr(key)
