"""The rules of token counts."""

from __future__ import annotations

from typing import Any, Final

from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_all, content_of, same
from core.testing.kit.rewriting import Chunk
from core.testing.kit.rule import Rule, rule, unless

COUNTS: Final = {"prompt_tokens": 1234, "completion_tokens": 56, "total_tokens": 1290}


@rule(hint=unless(rewrite_chunk=...))
def counts_are_the_engines(bench: Bench) -> None:
    """The counts are the engine's own, wherever they stand: on a chunk behind the end, on the end, on every chunk."""
    for place in ("apart", "finish", "every"):
        answer = bench.engine.answer(usage=COUNTS, usage_at=place)
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def no_counts_are_estimated(bench: Bench) -> None:
    """An answer without counts has estimates, none of them 0."""
    answer = bench.engine.answer(text="One, two, three.", usage=None)
    check_all(bench.serve(answer), answer, bench.facts)


@rule()
def late_counts_arrive_behind_calls(bench: Bench) -> None:
    """Counts behind the end arrive whatever the answer was: text cut short, a match, nothing."""
    for answer in (
        bench.engine.answer(text="One", finish_reason="length", usage=COUNTS),
        bench.engine.answer(text="One", finish_reason="content_filter", usage=COUNTS),
        bench.engine.answer(text=None, usage=COUNTS),
    ):
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def running_counts_replace_each_other(bench: Bench) -> None:
    """Counts that grow from chunk to chunk are not added up; null and zeros in their place change nothing."""
    answer = bench.engine.answer(text="One, two.", usage=COUNTS)
    early = {"prompt_tokens": 1234, "completion_tokens": 1, "total_tokens": 1235}
    late = {"prompt_tokens": 1234, "completion_tokens": 20, "total_tokens": 1254}
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    for behind in (None, zeros):
        chunks = [
            _counted(piece({"role": "assistant", "content": "One, "}), early),
            _counted(piece({"content": "two."}), late),
            _counted(piece({}, "stop"), None),
            {**_counted(piece({}), COUNTS), "choices": []},
            {**_counted(piece({}), behind), "choices": []},
        ]
        check_all(bench.serve(bench.engine.stream(chunks, done=True)), answer, bench.facts)


@rule(hint=unless(cached_tokens=False))
def cached_tokens_are_told(bench: Bench) -> None:
    """Cached prompt tokens are told apart where the operator wants it, and null details are none."""
    assembly = bench.assembly(cache_usage=True)
    details: tuple[tuple[Any, int], ...] = (({"cached_tokens": None}, 0), (None, 0))
    details += (({"cached_tokens": 1000}, 1000),) if bench.facts.cached_tokens else ()
    for given, cached in details:
        answer = bench.engine.answer(usage={**COUNTS, "prompt_tokens_details": given})
        for place, reply in bench.serve(answer, assembly=assembly):
            content_of(place, reply)
            usage = reply.message["usage"]
            same(place, "usage.cache_read_input_tokens", usage.get("cache_read_input_tokens") or 0, cached)
            same(place, "usage.input_tokens", usage["input_tokens"], 1234 - cached)
            same(place, "usage.output_tokens", usage["output_tokens"], 56)


@rule()
def tokens_of_reasoning_are_output(bench: Bench) -> None:
    """The tokens of the reasoning, which the engine tells apart, are a part of its completion's and stay in it."""
    answer = bench.engine.answer(usage={**COUNTS, "completion_tokens_details": {"reasoning_tokens": 40}})
    check_all(bench.serve(answer), answer, bench.facts)


def _counted(chunk: Chunk, usage: Any) -> Chunk:
    return {**chunk, "usage": usage}


RULES: Final[tuple[Rule, ...]] = (
    counts_are_the_engines,
    no_counts_are_estimated,
    late_counts_arrive_behind_calls,
    running_counts_replace_each_other,
    cached_tokens_are_told,
    tokens_of_reasoning_are_output,
)
