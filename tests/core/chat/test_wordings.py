from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.wordings import Length, cap_in, length_in, speaks_of_length

PROMPTS = [
    (
        "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input "
        "tokens, which exceeds this limit even without any output tokens.",
        Length(2049, 0, 2048),
    ),
    (
        "This model's maximum context length is 8,192 tokens. However, your messages resulted in 9,000 tokens.",
        Length(9000, 0, 8192),
    ),
    ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", Length(9000, 0, 8192)),
    ("Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens).", Length(5000, 0, 4090)),
    ("Input length (9000) must be smaller than the model context length (8192).", Length(9000, 0, 8192)),
    ("`inputs` must have less than 1000 tokens. Given: 1200", Length(1200, 0, 1000)),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        Length(40000, 0, 32768),
    ),
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        Length(1200000, 0, 1048576),
    ),
    (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        Length(5000, 0, 4096),
    ),
    ("Requested tokens (5000) exceed context window of 4096", Length(5000, 0, 4096)),
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that it is not.",
        Length(5000, 0, 4096),
    ),
    (
        "The prompt (total length 5000) is too long to fit into the model (context length 4096). Make sure.",
        Length(5000, 0, 4096),
    ),
    ("Input prompt (5000 tokens) is too long and exceeds limit of 4096", Length(5000, 0, 4096)),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        Length(5000, 0, 4096),
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 13055>= n_ctx: 4096).",
        Length(13055, 0, 4096),
    ),
    (
        "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)",
        Length(5000, 0, 4096),
    ),
    (
        "`default_max_tokens` (-904) must be greater than 0, `default_max_tokens` (-904) = max_seq_len (4096) - "
        "`splited_prompt_len` (5000) - `query_token_len` (0)",
        Length(5000, 0, 4096),
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
        Length(300000, 0, 272000),
    ),
    (
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 94307 tokens "
        "(94307 of text input). Please reduce the length of either one.",
        Length(94307, 0, 65536),
    ),
]
BOTH = [
    (
        "This model's maximum context length is 8192 tokens. However, you requested 4000 output tokens and your prompt "
        "contains 5000 input tokens, for a total of 9000 tokens.",
        Length(5000, 4000, 8192),
    ),
    (
        "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (5000 in the messages, "
        "1000 in the functions, and 4000 in the completion). Please reduce the 2 of them.",
        Length(6000, 4000, 8192),
    ),
    (
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 "
        "tokens: 5000 tokens from the input messages and 4000 tokens for the completion. Please reduce the number of "
        "tokens in the input messages or the completion to fit within the limit of 8192.",
        Length(5000, 4000, 8192),
    ),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 133968 tokens "
        "(93437 of text input, 8531 of tool input, 32000 in the output). Please reduce the length of either one.",
        Length(101968, 32000, 131072),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens "
        "and your request has 100 input tokens (5000 > 4096 - 100).",
        Length(100, 5000, 4096),
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 5000 `inputs` tokens and 4000 `max_new_tokens`",
        Length(5000, 4000, 8192),
    ),
    (
        "The sum of prompt length (3000.0), query length (0) and max_tokens (2000) should not exceed max_seq_len (4096)",
        Length(3000, 2000, 4096),
    ),
]


@pytest.mark.parametrize(("said", "length"), [*PROMPTS, *BOTH])
def test_the_numbers_of_a_prompt_that_is_too_long(said: str, length: Length) -> None:
    assert length_in(said) == length
    assert length_in(f"400: {said.upper()}") == length


@pytest.mark.parametrize(
    ("said", "asked", "cap"),
    [
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", 100000, 16384),
        ("max_tokens=5000 cannot be greater than max_model_len=max_total_tokens=2048. Ask for less.", 5000, 2048),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 0, 8192),
        ("<400> Range of max_tokens should be [1, 16384]", 0, 16384),
        ("`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens`", 0, 32768),
        ("max_tokens: Input should be less than or equal to 8192", 0, 8192),
        (
            "Unable to submit request because it has a maxOutputTokens value of 70000 but the supported range is from 1 "
            "(inclusive) to 65537 (exclusive). Update the value and try again.",
            70000,
            65536,
        ),
    ],
)
def test_the_cap_of_a_model(said: str, asked: int, cap: int) -> None:
    assert cap_in(said) == (asked, cap)
    assert length_in(said) == Length()


@pytest.mark.parametrize(
    "said",
    [
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        "Range of input length should be [1, 129024]",
        "Reached context length of 4096 tokens with a model that cannot go on",
        "invalid_request_error context_length_exceeded",
        "exceed_context_size_error",
        "Input is too long for requested model.",
    ],
)
def test_words_without_the_prompt_s_number(said: str) -> None:
    assert speaks_of_length(said)
    assert (length_in(said), cap_in(said)) == (Length(), (0, 0))


@pytest.mark.parametrize(
    "said", ["", "temperature is not supported", "context is everything: 5 > 4", "rate limit: 9 > 8"]
)
def test_other_sentences(said: str) -> None:
    assert not speaks_of_length(said)
    assert (length_in(said), cap_in(said)) == (Length(), (0, 0))


@given(st.text(st.sampled_from("0123456789 ,.()<>=[]maximum context length is tokens requested"), max_size=200))
def test_no_text_breaks_it(said: str) -> None:
    assert min(length_in(said).window, *cap_in(said)) >= 0
