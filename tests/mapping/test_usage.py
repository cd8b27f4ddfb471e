"""Token counts."""

from __future__ import annotations

from typing import Any

import pytest

from core.testing import UpstreamAnswer
from tests.mapping.wire import ASK, BACKENDS, HI, Wire

CACHED: dict[str, dict[str, Any]] = {
    "openai": {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}},
    "vllm": {"prompt_tokens_details": {"cached_tokens": 60, "created_cache_tokens": 30}},
    "deepseek": {"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40},
    "ollama": {},
}
ON = {"anthropic": {"cache_usage": True}}


def test_counts(wire: Wire) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    assert wire.answer(UpstreamAnswer(usage=usage))["usage"] == {"input_tokens": 30, "output_tokens": 4}


@pytest.mark.parametrize("place", ["apart", "finish", "every"])
def test_place(wire: Wire, place: Any) -> None:
    answer = UpstreamAnswer(usage={"prompt_tokens": 30, "completion_tokens": 4}, usage_at=place)
    assert wire.answer(answer)["usage"] == {"input_tokens": 30, "output_tokens": 4}


def test_groq(wire: Wire) -> None:
    answer = UpstreamAnswer(usage=None, top={"x_groq": {"usage": {"prompt_tokens": 30, "completion_tokens": 4}}})
    assert wire.answer(answer, "groq")["usage"] == {"input_tokens": 30, "output_tokens": 4}


@pytest.mark.parametrize("backend", CACHED)
def test_cached_tokens(wire: Wire, backend: str) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 4, **CACHED[backend]}
    read = 60 if backend != "ollama" else 0
    made = 30 if backend in ("openai", "vllm") else 0
    assert wire.answer(UpstreamAnswer(usage=usage), backend)["usage"] == {"input_tokens": 100, "output_tokens": 4}
    assert wire.answer(UpstreamAnswer(usage=usage), backend, options=ON)["usage"] == {
        "input_tokens": 100 - read - made,
        "output_tokens": 4,
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
    }


def test_reasoning_tokens(wire: Wire) -> None:
    inside = {"prompt_tokens": 10, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}}
    assert wire.answer(UpstreamAnswer(usage=inside))["usage"]["output_tokens"] == 9
    beside = {**inside, "total_tokens": 24}
    assert wire.answer(UpstreamAnswer(usage=beside))["usage"]["output_tokens"] == 14


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_usage(wire: Wire, backend: str) -> None:
    talk = [{**HI, "content": "word " * 400}]
    message = wire.answer(UpstreamAnswer(text="word " * 40, usage=None), backend, messages=talk)
    assert 400 <= message["usage"]["input_tokens"] <= 600
    assert 40 <= message["usage"]["output_tokens"] <= 60


@pytest.mark.parametrize(
    ("told", "prompt", "written"),
    [
        ({"prompt_tokens": 12}, (12, 12), (40, 60)),
        ({"completion_tokens": 7}, (400, 600), (7, 7)),
        ({"prompt_tokens": 20, "total_tokens": 30}, (20, 20), (10, 10)),
    ],
)
def test_a_count_that_is_missing(
    wire: Wire, told: dict[str, int], prompt: tuple[int, int], written: tuple[int, int]
) -> None:
    talk = [{**HI, "content": "word " * 400}]
    answer = UpstreamAnswer(text="word " * 40, usage=told)
    usage = wire.answer(answer, messages=talk)["usage"]
    assert prompt[0] <= usage["input_tokens"] <= prompt[1]
    assert written[0] <= usage["output_tokens"] <= written[1]
    assert wire.events(answer, messages=talk)[-2]["usage"] == usage


@pytest.mark.parametrize(("read", "made"), [(60, 0), (40, 30), (60, 60)])
def test_more_cached_tokens_than_the_prompt_has(wire: Wire, read: int, made: int) -> None:
    details = {"cached_tokens": read, "cache_write_tokens": made}
    told = {"prompt_tokens": 50, "completion_tokens": 4, "prompt_tokens_details": details}
    usage = wire.answer(UpstreamAnswer(usage=told), options=ON)["usage"]
    assert usage["cache_read_input_tokens"] == min(read, 50)
    assert sum(count for name, count in usage.items() if name != "output_tokens") == 50


def test_estimate_at_the_start(wire: Wire) -> None:
    events = wire.events(UpstreamAnswer(usage={"prompt_tokens": 30, "completion_tokens": 4}))
    started = events[0]["message"]["usage"]
    assert started["input_tokens"] > 0
    assert started["output_tokens"] <= 1
    assert events[-2]["usage"] == {"input_tokens": 30, "output_tokens": 4}
    early = UpstreamAnswer(usage={"prompt_tokens": 30, "completion_tokens": 4}, usage_at="every")
    assert wire.events(early)[0]["message"]["usage"]["input_tokens"] == 30
    assert wire.ask("/v1/messages", ASK).json["usage"] == {"input_tokens": 11, "output_tokens": 7}
