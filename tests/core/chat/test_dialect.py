from __future__ import annotations

import attrs
import pytest

from core.chat.dialect import Dialect


def test_the_defaults_are_plain_chat_completions() -> None:
    plain = Dialect()
    assert (plain.max_tokens_field, plain.max_stops, plain.top_k, plain.reasoning_history) == (
        "max_tokens",
        4,
        False,
        "",
    )
    assert not any((plain.thinking_on, plain.thinking_off, plain.efforts, plain.extra))


def test_a_dialect_is_a_value() -> None:
    assert Dialect() == Dialect()
    assert Dialect(top_k=True) != Dialect()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Dialect().top_k = True  # type: ignore[misc]
