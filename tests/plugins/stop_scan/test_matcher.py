from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plugins.stop_scan.automaton import Automaton
from plugins.stop_scan.matcher import Matcher
from tests.plugins.pieces import pieces


def naive(text: str, sequences: Sequence[str]) -> tuple[str, str | None]:
    """The text before the first match, and the match: of those that begin first the longest."""
    found = [(text.find(each), -len(each), each) for each in sequences if each in text]
    return (text[: min(found)[0]], min(found)[2]) if found else (text, None)


def run(parts: Sequence[str], sequences: Sequence[str]) -> tuple[list[str], str | None]:
    """What each piece let go, and what the end did; up to the match."""
    matcher = Matcher(Automaton(sequences))
    out = []
    for piece in parts:
        out.append(matcher.feed(piece))
        if matcher.found is not None:
            return out, matcher.found
    out.append(matcher.flush())
    return out, matcher.found


@st.composite
def scans(draw: st.DrawFn) -> tuple[str, list[str], list[int]]:
    """A text, sequences that are likely to be in it or nearly so, and where the text is cut."""
    letters = draw(st.sampled_from(("ab", "abc", "a#\n", "aé😀")))
    text = draw(st.text(letters, max_size=40))
    inside = st.tuples(st.integers(0, 40), st.integers(1, 8)).map(lambda place: text[place[0] : sum(place)])
    sequences = draw(st.lists(inside | st.text(letters, min_size=1, max_size=6), min_size=1, max_size=70))
    places = draw(st.lists(st.integers(1, 40), max_size=8))
    return text, [each for each in sequences if each] or ["ab"], places


@given(scans())
@example(("abcd", ["b", "abcx"], []))
@example(("abcX", ["b", "abcX"], [2]))
@example(("###", ["##", "###"], [1, 2]))
@example(("a" * 30 + "b", ["a" * 20 + "b", "a" * 31], [3, 9]))
def test_it_finds_what_a_naive_search_of_the_whole_text_finds(scan: tuple[str, list[str], list[int]]) -> None:
    text, sequences, places = scan
    let_go, found = run(pieces(text, places), sequences)
    assert ("".join(let_go), found) == naive(text, sequences)
    by_character, again = run(list(text), sequences)
    assert ("".join(by_character), again) == naive(text, sequences)


@given(scans())
def test_only_what_may_become_a_match_is_held(scan: tuple[str, list[str], list[int]]) -> None:
    text, sequences, places = scan
    matcher, came, given = Matcher(Automaton(sequences)), "", ""
    for piece in pieces(text, places):
        came += piece
        given += matcher.feed(piece)
        if matcher.found is not None:
            return
        held = came[len(given) :]
        assert given + held == came
        # The held text begins a sequence that is still open, and nothing before it does.
        assert not held or any(each.startswith(held) and len(each) > len(held) for each in sequences)
        starts = (came[at:] for at in range(len(given)))
        assert not any(each.startswith(start) for start in starts for each in sequences)


@given(scans())
def test_a_match_is_told_as_soon_as_it_is_certain(scan: tuple[str, list[str], list[int]]) -> None:
    text, sequences, _ = scan
    matcher = Matcher(Automaton(sequences))
    for end, character in enumerate(text, 1):
        matcher.feed(character)
        if matcher.found is not None:
            return
        best = naive(text[:end], sequences)
        if best[1] is not None:
            # Some longer sequence that begins there or earlier is still open.
            tails = (text[at:end] for at in range(len(best[0]) + 1))
            assert any(each.startswith(tail) and each != tail for tail in tails for each in sequences)


@pytest.mark.parametrize(
    ("parts", "sequences", "let_go", "found"),
    [
        (["a #", "a# b#", "#", "# lost"], ["END", "###"], ["a ", "#a# b", "", ""], "###"),
        (["say E", "N", "T"], ["END"], ["say ", "", "ENT", ""], None),
        (["say E", "N"], ["END"], ["say ", "", "EN"], None),
        (["ab", "c"], ["ab", "abc"], ["", ""], "abc"),
        (["ab", "d"], ["ab", "abc"], ["", ""], "ab"),
        (["ab"], ["ab", "abc"], ["", ""], "ab"),
        (["xab"], ["ab"], ["x"], "ab"),
        (["abc"], ["b", "abcd"], ["", "a"], "b"),
    ],
)
def test_step_by_step(parts: list[str], sequences: list[str], let_go: list[str], found: str | None) -> None:
    assert run(parts, sequences) == (let_go, found)


def test_after_a_flush_a_new_text_begins() -> None:
    matcher = Matcher(Automaton(["END"]))
    assert [matcher.feed("EN"), matcher.flush(), matcher.feed("D"), matcher.found] == ["", "EN", "D", None]


def test_the_work_is_the_same_for_one_sequence_and_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    step = Automaton.step

    def counted(self: Automaton, *arguments: object) -> object:
        nonlocal steps
        steps += 1
        return step(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Automaton, "step", counted)
    text = "The quick brown fox #1 jumps. " * 50
    run([text], ["#END"])
    of_one, steps = steps, 0
    run([text], [f"#END {number}" for number in range(64)])
    assert steps == of_one > 0


def test_a_piece_in_which_nothing_begins_need_not_be_fed() -> None:
    matcher = Matcher(Automaton(["END"]))
    assert matcher.passes("no such thing")
    assert not matcher.passes("THE")
    assert matcher.feed("an E") == "an "
    assert not matcher.passes("no such thing")
    assert matcher.feed("no") == "Eno"
    assert matcher.passes("no such thing")
