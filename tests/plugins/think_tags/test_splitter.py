from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core import Text, Thinking
from plugins.think_tags.splitter import Said, Splitter
from plugins.think_tags.tags import PAIRS
from tests.plugins.pieces import pieces

HARMONY = "<|channel|>analysis<|message|>a b<|end|><|start|>assistant<|channel|>final<|message|>c"


def joined(said: Iterable[Said]) -> tuple[str, str]:
    """Reasoning and text, after which no reasoning may come."""
    thinking = text = ""
    for each in said:
        assert each.text
        if isinstance(each, Thinking):
            assert not text
            thinking += each.text
        else:
            text += each.text
    return thinking, text


def split(parts: Iterable[str], *, opened: bool = False) -> tuple[str, str]:
    splitter = Splitter(PAIRS, opened=opened)
    return joined([*(said for piece in parts for said in splitter.feed(piece)), *splitter.flush()])


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("", "", ""),
        ("Hi", "", "Hi"),
        (" \n Hi\n", "", " \n Hi\n"),
        (" \n", "", " \n"),
        ("<think>a b</think>c", "a b", "c"),
        ("\n<think>\na b\n</think>\n\nc \n", "a b", "c \n"),
        ("<think></think>c", "", "c"),
        ("<think>\n\n</think>\n\n", "", ""),
        # Unclosed: what came is reasoning.
        ("<think>a b ", "a b", ""),
        ("<think>a </th", "a </th", ""),
        ("<thi", "", "<thi"),
        ("<think", "", "<think"),
        ("<thinks>a", "", "<thinks>a"),
        # Nested, doubled, and several.
        ("<think>a<think>b</think>c</think>d", "a<think>b</think>c", "d"),
        ("<think>a <think> b</think>c", "a <think> b", "c"),
        ("<think>a</think><think>b", "ab", ""),
        ("<think>a</think>\n<think>b</think>\nc", "a\nb", "c"),
        ("<think>a</think></think>c", "a", "c"),
        ("</think>\n\nc", "", "c"),
        # A literal tag stays text.
        ("use <think>a</think>", "", "use <think>a</think>"),
        ("```\n<think>\n```", "", "```\n<think>\n```"),
        ("`<think>`", "", "`<think>`"),
        ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        # A tag in code, in the reasoning: it neither nests nor ends.
        ("<think>`</think>` ends it</think>c", "`</think>` ends it", "c"),
        ("<think>`<think>` and `</think>`\n</think>\nc", "`<think>` and `</think>`", "c"),
        ("<think>a `</think>", "a `", ""),
        ("<think>a `b`</think>`c`", "a `b`", "`c`"),
        ("<think>it`s\n`</think>` b</think>c", "it`s\n`</think>` b", "c"),
        ("<think>a<think>b</think>c `</think>` d", "a<think>b", "c `</think>` d"),
        # Another pair's tag ends nothing.
        ("<think>a</thinking>b</think>c", "a</thinking>b", "c"),
        (HARMONY, "a b", "c"),
        (HARMONY.removeprefix("<|channel|>analysis<|message|>a b<|end|>"), "", "c"),
        ("<|channel|>analysis<|message|>a<|end|>\n<|channel|>analysis<|message|>b<|end|>c", "a\nb", "c"),
    ],
)
def test_one_answer_however_it_is_cut(text: str, thinking: str, answer: str) -> None:
    assert split([text]) == (thinking, answer)
    assert split(text) == (thinking, answer)
    for at in range(1, len(text)):
        assert split([text[:at], text[at:]]) == (thinking, answer), at


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_every_pair(opening: str, closing: str) -> None:
    assert split(f"{opening}a b{closing}\n\nc") == ("a b", "c")


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("a b</think>\n\nc", "a b", "c"),
        ("\na b", "a b", ""),
        ("<think>\na b</think>c", "a b", "c"),
        ("</think>c", "", "c"),
        ("a [/THINK]c</think>", "a", "c</think>"),
        ("<thi", "<thi", ""),
        (" ", "", ""),
        ("", "", ""),
        ("a</think><think>b</think>c", "ab", "c"),
    ],
)
def test_an_answer_that_begins_inside(text: str, thinking: str, answer: str) -> None:
    assert split([text], opened=True) == (thinking, answer)
    assert split(text, opened=True) == (thinking, answer)


def test_nothing_waits_that_is_certain() -> None:
    splitter = Splitter(PAIRS)
    parts = ["\n", "<think>", "a", " b ", "</", "think>", "\n", "c", " <"]
    steps = [joined(splitter.feed(piece)) for piece in parts]
    assert steps == [("", "")] * 2 + [("a", ""), (" b", "")] + [("", "")] * 3 + [("", "c"), ("", " <")]
    assert splitter.plain


def test_a_false_start_is_let_go_at_once() -> None:
    splitter = Splitter(PAIRS)
    assert [splitter.feed(piece) for piece in ("<", "t", "d>")] == [[], [], [Text("<td>")]]


def test_reasoning_of_the_engines_own() -> None:
    splitter = Splitter(PAIRS, opened=True)
    assert splitter.feed("\n") == []
    assert splitter.reasoned() == []
    assert splitter.feed("c") == [Text("\nc")]
    half = Splitter(PAIRS)
    assert [half.feed("<th"), half.reasoned(), half.feed("ink>")] == [[], [Text("<th")], [Text("ink>")]]


def test_a_flush_in_the_middle_of_reasoning_does_not_end_it() -> None:
    splitter = Splitter(PAIRS)
    said = [*splitter.feed("<think>a</"), *splitter.flush(), *splitter.feed("b</think>c")]
    assert said == [Thinking("a"), Thinking("</"), Thinking("b"), Text("c")]


parts = st.lists(
    st.sampled_from(("<think>", "</think>", "<thinking>", "</thinking>", "a", " ", "\n", "`", "<", "</th"))
)


@given(parts, st.lists(st.integers(0, 60), max_size=6), st.booleans())
@example(["<think>", "a", "<think>", "a", "</think>", "<think>", "a"], [], False)
def test_the_cut_changes_nothing_and_nothing_but_tags_and_blanks_is_lost(
    parts: list[str], places: list[int], opened: bool
) -> None:
    text = "".join(parts)
    whole = split([text], opened=opened)
    assert split(pieces(text, places), opened=opened) == whole
    assert split(text, opened=opened) == whole
    for tag in (*PAIRS[0], *PAIRS[1]):
        text = text.replace(tag, "")
    kept = "".join(whole)
    for tag in (*PAIRS[0], *PAIRS[1]):
        kept = kept.replace(tag, "")
    if "<" not in text:
        assert "".join(kept.split()) == "".join(text.split())
