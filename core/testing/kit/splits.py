"""The rules of the wire: the answer is the same however it is cut and framed, and whichever side streams."""

from __future__ import annotations

import codecs
from typing import Final

import attrs

from core.testing.answers import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_all
from core.testing.kit.rule import Rule, rule

TEXT: Final = 'Hé 😀 漢字\u2028\u0085 [DONE]\n\ndata: [DONE]\n\n{"error": {"message": "no"}} \\ " \x00 \r\n end'
CALLS: Final = (
    UpstreamToolCall("f", '{"a": "😀é\\n"}', "call_a"),
    UpstreamToolCall("g", '{"b": [1, {"c": null}]}', "call_b"),
)


def _rich(bench: Bench, **fields: object) -> UpstreamAnswer:
    return bench.engine.answer(**{"text": TEXT, "reasoning": "Ünd 🦜\n", **fields})


def _check(bench: Bench, answer: UpstreamAnswer, *, bytewise: bool = True) -> None:
    check_all(bench.serve(answer, bytewise=bytewise), answer, bench.facts)


@rule()
def cuts_change_nothing(bench: Bench) -> None:
    """Text, reasoning and calls are the same byte by byte as in one piece, in all four modes."""
    _check(bench, _rich(bench, shape=ChunkShape(9)))
    _check(bench, _rich(bench, text=None, tool_calls=CALLS, finish_reason="tool_calls", shape=ChunkShape(6)))


@rule()
def line_ends_change_nothing(bench: Bench) -> None:
    """Streams whose lines end in CR LF or CR, also byte by byte, are read as any other."""
    for eol in ("\r\n", "\r"):
        framing = attrs.evolve(Framing(done=bench.facts.done), eol=eol)
        _check(bench, _rich(bench, framing=framing, shape=ChunkShape(12)))


@rule()
def framing_changes_nothing(bench: Bench) -> None:
    """Comments, blank lines, no blank behind `data:`, a byte order mark, escapes, half characters change nothing."""
    done = bench.facts.done
    _check(bench, _rich(bench, framing=Framing(comment="keep-alive", blank_lines=2, space=False, done=done)))
    escaped = Framing(ascii=True, done=done)
    _check(bench, _rich(bench, framing=escaped, shape=ChunkShape(1, halves=True)), bytewise=False)
    answer = _rich(bench, shape=ChunkShape(9, role="none"))
    for stream in (True, False):
        marked = codecs.BOM_UTF8 + bench.engine.wire(answer, stream=stream)
        check_all(bench.serve(marked), answer, bench.facts)


@rule()
def a_missing_done_changes_nothing(bench: Bench) -> None:
    """After the finish_reason the answer is whole, whether [DONE] follows or not; [DONE] alone ends one, too."""
    for usage in (None, {"prompt_tokens": 3, "completion_tokens": 2}):
        _check(bench, _rich(bench, framing=Framing(done=False), usage=usage), bytewise=False)
        _check(bench, _rich(bench, framing=Framing(done=True), usage=usage), bytewise=False)
    _check(bench, _rich(bench, framing=Framing(done=True), finish_reason=None), bytewise=False)


@rule()
def an_unended_last_line_is_read(bench: Bench) -> None:
    """The last event counts though its blank line never came."""
    counts = {"prompt_tokens": 3, "completion_tokens": 2}
    for usage, done, less in ((counts, True, 2), (counts, False, 1), (counts, False, 2), (None, False, 2)):
        answer = _rich(bench, framing=Framing(done=done), usage=usage)
        check_all(bench.serve(bench.engine.wire(answer, stream=True)[:-less]), answer, bench.facts)


@rule()
def whichever_form_comes_is_read(bench: Bench) -> None:
    """An engine that streams unasked, or does not though asked, is read all the same."""
    answer = _rich(bench, tool_calls=CALLS, finish_reason="tool_calls")
    for stream in (True, False):
        check_all(bench.serve(bench.engine.wire(answer, stream=stream)), answer, bench.facts)


@rule()
def idle_chunks_say_nothing(bench: Bench) -> None:
    """Chunks without choices, with null or without delta, and choices that nobody asked for say nothing."""
    idle = [
        {"choices": [], "prompt_filter_results": []},
        {"id": "x", "object": "chat.completion.chunk"},
        piece({"content": None, "role": "assistant"}),
        {"choices": [{"index": 0, "finish_reason": None, "delta": None}]},
        {"choices": [{"index": 0, "finish_reason": None}]},
        {"choices": [{"index": 1, "delta": {"content": "not asked for"}, "finish_reason": None}]},
    ]
    chunks = [*idle, piece({"content": "One, "}), *idle, piece({"content": "two."}), *idle, piece({}, "stop"), *idle]
    answer = bench.engine.answer(text="One, two.", usage=None)
    check_all(bench.serve(bench.engine.stream(chunks)), answer, bench.facts)


RULES: Final[tuple[Rule, ...]] = (
    cuts_change_nothing,
    line_ends_change_nothing,
    framing_changes_nothing,
    a_missing_done_changes_nothing,
    an_unended_last_line_is_read,
    whichever_form_comes_is_read,
    idle_chunks_say_nothing,
)
