from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import State
from plugins.anthropic import seal as module
from plugins.anthropic.seal import TAG, Seal, Sealed
from tests.plugins.anthropic.folding import SEAL

STATE = State({"details": [{"type": "x", "data": "é"}]}, {"call_1": {"extra": {"signature": "s"}}})


def test_what_is_closed_opens() -> None:
    assert SEAL.open(SEAL.close("plan", STATE, keep_text=True)) == Sealed("plan", STATE)
    assert SEAL.open(SEAL.close("plan", STATE)) == Sealed("", STATE)
    assert SEAL.open(SEAL.close("plan", keep_text=True)) == Sealed("plan")
    assert SEAL.open(SEAL.close("plan")) == Sealed()


def test_the_same_content_has_the_same_signature() -> None:
    assert SEAL.close("a", STATE) == Seal(SEAL.key).close("a", STATE)
    assert len({SEAL.close("a"), SEAL.close("b"), SEAL.close("a", STATE), SEAL.close("a", keep_text=True)}) == 4


def test_it_is_never_empty_and_short_where_nothing_is_kept() -> None:
    assert SEAL.close("").startswith(TAG)
    assert len(SEAL.close("x" * 10**5)) < 120


def test_another_key_opens_nothing() -> None:
    assert Seal(b"other" * 8).open(SEAL.close("a", STATE)) is None


@pytest.mark.parametrize("signature", ["", "ErUBCkYIBx", TAG, f"{TAG}AAAA", f"{TAG}!", f"{TAG}é", f"{TAG}A"])
def test_foreign_and_broken_signatures_carry_nothing(signature: str) -> None:
    assert SEAL.open(signature) is None


@settings(derandomize=True, deadline=None)
@given(st.data())
def test_any_change_is_seen(data: st.DataObject) -> None:
    signature = SEAL.close("plan", STATE, keep_text=True)
    at = data.draw(st.integers(0, len(signature) - 1))
    other = data.draw(st.sampled_from(["", "A", "B", "_", "!", "=", "\n"]))
    changed = signature[:at] + other + signature[at + 1 :]
    assert SEAL.open(changed) is None or changed == signature
    assert SEAL.open(signature[:at]) is None


@settings(derandomize=True, deadline=None)
@given(st.text(), st.dictionaries(st.text(), st.lists(st.text() | st.integers(-9, 9) | st.none())))
def test_any_text_and_state(text: str, message: dict[str, Any]) -> None:
    assert SEAL.open(SEAL.close(text, State(message), keep_text=True)) == Sealed(text, State(message))


def test_a_lone_surrogate_is_replaced() -> None:
    assert SEAL.open(SEAL.close("\ud800", keep_text=True)) == Sealed("\ufffd")


@pytest.mark.parametrize("depth", [300, 3000])
def test_a_state_too_deep_to_be_written_is_left_out(depth: int) -> None:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    assert SEAL.open(SEAL.close("t", State({"a": deep}), keep_text=True)) == Sealed("t")


@pytest.mark.parametrize("packed", [b"no zlib", zlib.compress(b"no json"), zlib.compress(b"[]")])
def test_what_our_key_sealed_in_another_shape_carries_nothing(packed: bytes) -> None:
    assert SEAL.open(TAG + module._text(SEAL._mac(packed) + packed)) is None


def test_what_unpacks_to_too_much_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    signature = SEAL.close("x" * 1000, keep_text=True)
    monkeypatch.setattr(module, "MOST_BYTES", 500)
    assert SEAL.open(signature) is None


def test_the_key_is_not_shown() -> None:
    assert "kkk" not in repr(SEAL)
