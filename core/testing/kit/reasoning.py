"""The rules of reasoning."""

from __future__ import annotations

from typing import Any, Final

from core.testing.answers import ChunkShape, UpstreamToolCall
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_all, check_calls, content_of, joined, same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rewriting import copied
from core.testing.kit.rule import Rule, rule

THOUGHT: Final = "\nTwo and two,\n  perhaps. 🦜 None null [DONE] "
TEXT: Final = "It is 4, שלום."
REASONS: Final = "those with a `reasoning_field` or `tags`"
FIELD: Final = "those with a `reasoning_field`"
TAGS: Final = "those with `tags`"


def _reasons(facts: EngineFacts) -> bool:
    return facts.reasons


def _elsewhere(facts: EngineFacts) -> str:
    told = facts.tags or facts.rewrite or facts.rewrite_chunk or facts.reasoning_field != EngineFacts().reasoning_field
    return "" if told else "or, where the engine's is elsewhere, say EngineFacts(reasoning_field=…) or (tags=…)"


def _plain(facts: EngineFacts) -> bool:
    return bool(facts.reasoning_field)


@rule(_reasons, needs=REASONS, hint=_elsewhere)
def reasoning_comes_first_and_apart(bench: Bench) -> None:
    """The reasoning is one thinking block in front of the text, whole, and nowhere else."""
    for shape in (ChunkShape(4), ChunkShape(1), ChunkShape(0), ChunkShape(7, role="null", nulls=True)):
        answer = bench.engine.answer(text=TEXT, reasoning=THOUGHT, shape=shape)
        check_all(bench.serve(answer), answer, bench.facts)


@rule(_reasons, needs=REASONS)
def reasoning_in_the_same_chunk_as_text_comes_first(bench: Bench) -> None:
    """Reasoning and text of one chunk both arrive, the reasoning first."""
    answer = bench.engine.answer(text=TEXT, reasoning=THOUGHT, shape=ChunkShape(0, shared=True))
    check_all(bench.serve(answer), answer, bench.facts)


@rule(_reasons, needs=REASONS)
def reasoning_alone_is_an_answer(bench: Bench) -> None:
    """An answer that ended while it reasoned has its reasoning and no text."""
    for text in (None, ""):
        answer = bench.engine.answer(text=text, reasoning=THOUGHT, finish_reason="length")
        check_all(bench.serve(answer), answer, bench.facts)


@rule(_reasons, needs=REASONS)
def reasoning_comes_before_calls(bench: Bench) -> None:
    """Reasoning in front of a tool call arrives, and arrives first."""
    calls = (UpstreamToolCall("get_weather", '{"city": "Paris"}', "call_a"),)
    for text in (None, TEXT):
        answer = bench.engine.answer(text=text, reasoning=THOUGHT, tool_calls=calls, finish_reason="tool_calls")
        check_all(bench.serve(answer), answer, bench.facts)


@rule(lambda facts: _plain(facts) and bool(facts.reasoning_also), needs="those with `reasoning_also`")
def reasoning_under_two_names_comes_once(bench: Bench) -> None:
    """Reasoning that comes under several names at once arrives once, and under any one of them it arrives."""
    facts = bench.facts
    names = (facts.reasoning_field, *facts.reasoning_also)
    for fields in (names, names[::-1], *((name,) for name in names)):
        answer = bench.engine.answer(text=TEXT, reasoning=THOUGHT, reasoning_fields=fields)
        check_all(bench.serve(answer), answer, facts)


@rule(_plain, needs=FIELD)
def no_reasoning_is_no_block(bench: Bench) -> None:
    """Reasoning that is absent, null or empty makes no thinking block."""
    answer = bench.engine.answer(text=TEXT)
    for value in (None, ""):
        chunks = copied(answer.chunks())
        for chunk in chunks:
            for choice in chunk["choices"]:
                choice["delta"].setdefault(bench.facts.reasoning_field, value)
        check_all(bench.serve(bench.engine.stream(chunks)), answer, bench.facts)
    whole = bench.engine.answer(text=TEXT, reasoning="")
    check_all(bench.serve(whole), whole, bench.facts)


@rule(_plain, needs=FIELD)
def reasoning_after_text_stays_reasoning(bench: Bench) -> None:
    """Reasoning that comes again after text is not lost, and not text."""
    field = bench.facts.reasoning_field
    deltas = [{field: "One. "}, {"content": "First. "}, {field: "Two. "}, {"content": "Second."}]
    wire = bench.engine.stream([*map(piece, deltas), piece({}, "stop")], done=True)
    for place, reply in bench.serve(wire):
        content = content_of(place, reply)
        same(place, "reasoning", joined(content, "thinking"), "One. Two. ")
        same(place, "text", joined(content, "text"), "First. Second.")
        order = [block["type"] for block in content]
        same(place, "order of blocks", order, ["thinking", "text", "thinking", "text"])


@rule(_plain, needs=FIELD)
def reasoning_between_calls_is_kept(bench: Bench) -> None:
    """Reasoning behind a tool call, in front of the next one, is not lost and does not part the call's arguments."""
    field = bench.facts.reasoning_field
    calls = (
        UpstreamToolCall("get_weather", '{"city": "Paris"}', "call_a"),
        UpstreamToolCall("get_time", "{}", "call_b"),
    )
    heads = [
        {"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for at, call in enumerate(calls)
    ]
    deltas: list[dict[str, Any]] = [
        {field: "One. "},
        {"tool_calls": heads[:1]},
        {field: "Two."},
        {"tool_calls": heads[1:]},
    ]
    wire = bench.engine.stream([*map(piece, deltas), piece({}, "tool_calls")], done=True)
    for place, reply in bench.serve(wire):
        content = content_of(place, reply)
        same(place, "reasoning", joined(content, "thinking"), "One. Two.")
        check_calls(place, content, bench.engine.answer(text=None, tool_calls=calls), bench.facts)


def _tagged(facts: EngineFacts) -> bool:
    return facts.tags is not None


@rule(_tagged, needs=TAGS)
def tags_count_in_front_alone(bench: Bench) -> None:
    """A tag behind the beginning of the answer is text, and so is what only begins like one."""
    opening, closing = bench.facts.tags or ("", "")
    for text in (f"It is `{opening}` and {closing}", f"4 {opening}no{closing} 5", opening[:-1], f"{opening[:3]} 4"):
        for shape in (ChunkShape(1), ChunkShape(0)):
            answer = bench.engine.answer(text=text, shape=shape)
            check_all(bench.serve(answer), answer, bench.facts)
    calls = (UpstreamToolCall("get_weather", '{"city": "Paris"}', "call_a"),)
    answer = bench.engine.answer(text=opening[:-1], tool_calls=calls, finish_reason="tool_calls")
    check_all(bench.serve(answer), answer, bench.facts)


@rule(_tagged, needs=TAGS)
def reasoning_that_never_closes_is_reasoning(bench: Bench) -> None:
    """Reasoning that the token limit cut, half its closing tag with it, is reasoning to its end."""
    opening, closing = bench.facts.tags or ("", "")
    for half in ("", closing[:-1]):
        answer = bench.engine.answer(text=f"{opening}Two and two{half}", finish_reason="length", shape=ChunkShape(3))
        for place, reply in bench.serve(answer):
            content = content_of(place, reply)
            same(place, "reasoning", joined(content, "thinking"), f"Two and two{half}")
            same(place, "text", joined(content, "text"), "")


@rule(_plain, needs=FIELD)
def last_words_are_not_lost(bench: Bench) -> None:
    """Text and reasoning on the chunk that carries the finish_reason arrive."""
    facts = bench.facts
    for shape in (ChunkShape(4, finish_early=True), ChunkShape(0, finish_early=True)):
        for answer in (
            bench.engine.answer(text=TEXT, reasoning=THOUGHT, shape=shape, usage_at="finish"),
            bench.engine.answer(text=None, reasoning=THOUGHT, shape=shape),
        ):
            check_all(bench.serve(answer), answer, facts)


RULES: Final[tuple[Rule, ...]] = (
    reasoning_comes_first_and_apart,
    reasoning_in_the_same_chunk_as_text_comes_first,
    reasoning_alone_is_an_answer,
    reasoning_comes_before_calls,
    reasoning_under_two_names_comes_once,
    no_reasoning_is_no_block,
    reasoning_after_text_stays_reasoning,
    reasoning_between_calls_is_kept,
    tags_count_in_front_alone,
    reasoning_that_never_closes_is_reasoning,
    last_words_are_not_lost,
)
