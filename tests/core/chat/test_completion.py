from __future__ import annotations

from typing import Any

import pytest

from core.chat.completion import has_message, is_plain, the_choice, the_delta

PLAIN: dict[str, Any] = {
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}],
}


def with_choice(**fields: Any) -> dict[str, Any]:
    return {**PLAIN, "choices": [{**PLAIN["choices"][0], **fields}]}


def test_a_piece_of_the_answer_is_plain() -> None:
    assert is_plain(PLAIN)
    assert the_delta(the_choice(PLAIN)) == {"content": "a"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {**PLAIN, "error": None},
        {**PLAIN, "object": "error"},
        {**PLAIN, "choices": []},
        {**PLAIN, "choices": [PLAIN["choices"][0]] * 2},
        with_choice(finish_reason="stop"),
        with_choice(delta=None),
        with_choice(index=1),
    ],
)
def test_all_else_is_looked_at_with_care(value: Any) -> None:
    assert not is_plain(value)


@pytest.mark.parametrize(
    ("choice", "has"), [({"message": {}}, True), ({"delta": {}}, True), ({"message": None}, False), ({}, False)]
)
def test_a_completion_has_its_message(choice: dict[str, Any], has: bool) -> None:
    assert has_message(choice) is has
