from __future__ import annotations

from typing import Any

import pytest

from core.chat.overflow import overflow

BOTH = "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease input length or `max_tokens` and try again"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        # Exactly full, with no room for an answer: not "8192 > 8192", which no client could act on.
        (
            "The input (8192 tokens) is longer than the model's context length (8192 tokens).",
            "prompt is too long: 8192 tokens > 8191 maximum",
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the "
            "messages, 4000 in the completion). Please reduce the length.",
            BOTH.format(5000, 4000, 8192),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9500 tokens (9000 in the "
            "messages, 500 in the completion).",
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
    ],
)
def test_numbers_become_the_sentence_on_which_clients_act(said: str, sentence: str) -> None:
    assert overflow(said) == sentence


def test_numbers_that_fit_are_not_told_as_if_they_did_not() -> None:
    said = "This model's maximum context length is 4096 tokens. However, your messages resulted in 100 tokens."
    assert overflow(said) == f"prompt is too long: {said}"


def test_llama_cpp_puts_its_numbers_beside_the_words() -> None:
    fields: dict[str, Any] = {"n_prompt_tokens": 5000, "n_ctx": 4096}
    said = overflow("the request exceeds the available context size", "exceed_context_size_error", fields)
    assert said == "prompt is too long: 5000 tokens > 4096 maximum"


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Please reduce the length of the messages or completion.", "context_length_exceeded"),
        ("too much", "context_length_exceeded"),
        ("the input length exceeds the context length", ""),
        ("", "exceed_context_size_error"),
    ],
)
def test_words_without_numbers(said: str, word: str) -> None:
    found = overflow(said, word)
    assert found is not None
    assert found.startswith("prompt is too long")
    assert said in found


@pytest.mark.parametrize(
    ("said", "asked", "over"),
    [
        ("max_tokens is too large: 100000. This model supports at most 8192 completion tokens.", 0, "100000"),
        ("max_tokens is too large: 100000. This model supports at most 8192 completion tokens.", 9, "100000"),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 32000, "32000"),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 0, "the limit asked for"),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 5, "the limit asked for"),
    ],
)
def test_a_models_cap(said: str, asked: int, over: str) -> None:
    assert overflow(said, asked=asked) == (
        f"max_tokens: {over} > 8192, which is the maximum allowed number of output tokens for this model"
    )


OWN = (
    "prompt is too long: 5000 tokens > 4096 maximum",
    BOTH.format(5000, 4000, 8192),
    "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens for claude-opus-5-5",
)


@pytest.mark.parametrize("said", OWN)
def test_the_api_s_own_words_are_not_said_twice(said: str) -> None:
    assert overflow(said, "invalid_request_error", asked=100_000) == said
    assert overflow(f"Provider error: {said}") == said


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("Prompt is too long", "prompt is too long"),
        (
            "The prompt is too long: 9, model maximum context length: 8",
            "prompt is too long: 9, model maximum context length: 8",
        ),
        ("Input is too long for requested model.", "prompt is too long: Input is too long for requested model."),
    ],
)
def test_words_like_the_api_s(said: str, sentence: str) -> None:
    assert overflow(said) == sentence


@pytest.mark.parametrize("said", ["temperature is not supported", "", "rate limit", "context is everything: 5 > 4"])
def test_other_errors_are_left_alone(said: str) -> None:
    assert overflow(said) is None
