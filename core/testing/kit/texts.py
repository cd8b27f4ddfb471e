"""The rules of what is written: it arrives letter by letter, however odd and however long it is."""

from __future__ import annotations

import json
from typing import Final

from core.testing.answers import ChunkShape, UpstreamToolCall
from core.testing.kit.bench import Bench
from core.testing.kit.expect import check_all
from core.testing.kit.rule import Rule, rule

ODD: Final = (
    "    indented\n\tcode\n\n",
    "\n\nTwo lines down.",
    "&lt;b&gt; &amp;amp; &#39; %20 \\n \\u00e9 $1 {0} <b>",
    "e\u0301 \u00e9 \ufb01 \u2460 \u200b\u200d \u00a0 \ufeff \uff21",
    "a\r\nb\rc\x00\x1b[0m",
    "1000 1,000.00 0 0 aaa null None false NaN",
)
"""White space at both ends, escapes, characters that a normal form would change, control characters, words that
look like values, letters that repeat."""

LONG: Final = "".join(f"{number} bottles of beer, " for number in range(450))


@rule()
def text_is_passed_on_as_it_is(bench: Bench) -> None:
    """Text arrives as it was written: blanks at its ends, escapes, odd characters and repeated letters."""
    for text in ODD:
        for size in (1, 0):
            answer = bench.engine.answer(text=text, shape=ChunkShape(size))
            check_all(bench.serve(answer), answer, bench.facts)


@rule(lambda facts: facts.reasons, needs="those with a `reasoning_field` or `tags`")
def reasoning_is_passed_on_as_it_is(bench: Bench) -> None:
    """Reasoning arrives as it was written, just as text does."""
    for reasoning in ODD:
        answer = bench.engine.answer(text="4.", reasoning=reasoning, shape=ChunkShape(1))
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def arguments_are_passed_on_as_they_are(bench: Bench) -> None:
    """What stands in a call's arguments arrives as it was written, just as text does."""
    arguments = json.dumps({"odd": list(ODD), "numbers": [0, -1, 1e-7, 0.1, True, None, [], {}]}, ensure_ascii=False)
    for size in (1, 0):
        call = (UpstreamToolCall("write", arguments, "call_a"),)
        answer = bench.engine.answer(text=None, tool_calls=call, finish_reason="tool_calls", shape=ChunkShape(size))
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def nothing_is_cut_short(bench: Bench) -> None:
    """An answer of ten thousand characters arrives whole: its reasoning, its text and a call's arguments."""
    call = (UpstreamToolCall("write", json.dumps({"text": LONG}), "call_a"),)
    for shape in (ChunkShape(50), ChunkShape(0)):
        answer = bench.engine.answer(
            text=LONG, reasoning=LONG, tool_calls=call, finish_reason="tool_calls", shape=shape
        )
        check_all(bench.serve(answer), answer, bench.facts)


RULES: Final[tuple[Rule, ...]] = (
    text_is_passed_on_as_it_is,
    reasoning_is_passed_on_as_it_is,
    arguments_are_passed_on_as_they_are,
    nothing_is_cut_short,
)
