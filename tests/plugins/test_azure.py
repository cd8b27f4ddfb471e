from __future__ import annotations

import attrs
import pytest

from core.deltas import Stop
from core.errors import RequestError
from core.loader.checks import key_header
from core.request import Message, TextBlock
from plugins.azure import Azure
from tests.plugins.backends import HI, Backend

BACKEND = Backend(Azure())


def test_the_body() -> None:
    body = BACKEND.body()
    assert body["max_completion_tokens"] == 9
    assert not {"max_tokens", "top_k", "reasoning_effort"} & set(body)


def test_a_reasoning_model_is_described_in_the_table() -> None:
    body = BACKEND.body(dialect={"efforts": ("low", "high"), "sampling": False})
    assert body["reasoning_effort"] == "high"
    assert "temperature" not in body


def test_the_key_has_a_header_of_its_own() -> None:
    assert key_header(BACKEND.manager) == "api-key"


def test_answers() -> None:
    assert BACKEND.answer(reasoning="t").thinking == "t"
    assert BACKEND.answer(finish_reason="content_filter").stop == Stop("refusal")


def test_a_last_turn_of_the_model_s_is_refused() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    with pytest.raises(RequestError, match="prefill"):
        BACKEND.body(attrs.evolve(HI, messages=turns))
