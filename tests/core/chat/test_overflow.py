from __future__ import annotations

from typing import Any

import pytest

from core.chat.overflow import overflow

BOTH = "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease input length or `max_tokens` and try again"


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        (
            "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input "
            "tokens, which exceeds this limit even without any output tokens.",
            (2049, 2048),
        ),
        (
            "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your "
            "prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.",
            (262145, 262144),
        ),
        (
            "This model's maximum context length is 8,192 tokens. However, your messages resulted in 9,000 tokens.",
            (9000, 8192),
        ),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", (9000, 8192)),
        ("Input length (9000) must be smaller than the model context length (8192).", (9000, 8192)),
        ("`inputs` must have less than 1000 tokens. Given: 1200", (1200, 1000)),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            (40000, 32768),
        ),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", (1200000, 1048576)),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", (5000, 4096)),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9500 tokens "
            "(9000 in the messages, 500 in the completion).",
            (9000, 8192),
        ),
    ],
)
def test_the_prompt_alone_is_too_long(said: str, numbers: tuple[int, int]) -> None:
    assert overflow(said) == "prompt is too long: {} tokens > {} maximum".format(*numbers)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 4000 output tokens and your prompt "
        "contains 5000 input tokens, for a total of 9000 tokens.",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, "
        "4000 in the completion). Please reduce the length.",
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 "
        "tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
        "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens (5000 of text "
        "input, 4000 in the output).",
        "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 5000 `inputs` tokens and 4000 `max_new_tokens`",
    ],
)
def test_prompt_and_limit_together_are_too_long(said: str) -> None:
    assert overflow(said) == BOTH.format(5000, 4000, 8192)


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


def test_a_models_cap() -> None:
    said = "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you asked for it."
    assert (
        overflow(said)
        == "max_tokens: 100000 > 16384, which is the maximum allowed number of output tokens for this model"
    )


@pytest.mark.parametrize("said", ["temperature is not supported", "", "rate limit", "context is everything: 5 > 4"])
def test_other_errors_are_left_alone(said: str) -> None:
    assert overflow(said) is None


def test_a_limit_over_the_window_is_a_cap_too() -> None:
    said = "max_tokens=5000 cannot be greater than max_model_len=max_total_tokens=2048. Please request fewer output tokens."
    assert (
        overflow(said) == "max_tokens: 5000 > 2048, which is the maximum allowed number of output tokens for this model"
    )
