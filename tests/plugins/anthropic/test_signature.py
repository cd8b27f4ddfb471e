from __future__ import annotations

from plugins.anthropic.signature import sign


def test_the_same_thinking_has_the_same_signature() -> None:
    assert sign("a thought") == sign("a thought") != sign("another")


def test_it_is_opaque_and_never_empty() -> None:
    assert sign("").startswith("hl1.")
    assert len(sign("")) == 68
    assert "secret" not in sign("secret")


def test_any_string_can_be_signed() -> None:
    assert sign("\ud800")
