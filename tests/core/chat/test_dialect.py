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


@pytest.mark.parametrize(
    ("allowed", "field", "taken"), [((), "x", True), (("x",), "x", True), (("y",), "x", False), (("y",), "", False)]
)
def test_the_fields_that_an_engine_takes(allowed: tuple[str, ...], field: str, taken: bool) -> None:
    assert Dialect(allowed_fields=allowed).takes(field) is taken


@pytest.mark.parametrize(
    ("dialect", "taken"),
    [
        (Dialect(), True),
        (Dialect(response_format="json_object"), False),
        (Dialect(response_format="none"), False),
        (Dialect(allowed_fields=("stop",)), False),
        (Dialect(allowed_fields=("response_format",)), True),
    ],
)
def test_whether_a_schema_is_taken(dialect: Dialect, taken: bool) -> None:
    assert dialect.takes_schema is taken


def test_a_pattern_of_ids_is_checked() -> None:
    assert Dialect(tool_id_pattern="[a-z]{9}").tool_id_pattern == "[a-z]{9}"
    for pattern in ("[", "ä"):
        with pytest.raises(ValueError, match=r"^tool_id_pattern "):
            Dialect(tool_id_pattern=pattern)


def test_a_limit_of_tokens_is_at_least_one() -> None:
    assert Dialect(max_tokens_limit=1).max_tokens_limit == 1
    with pytest.raises(ValueError, match="max_tokens_limit"):
        Dialect(max_tokens_limit=0)
