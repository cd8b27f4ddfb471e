from __future__ import annotations

import pytest

from plugins.think_tags.block import Block, Trimmed


def run(block: Block, pieces: list[str]) -> tuple[list[str], str | None]:
    """What each piece made certain, the flush last; and what follows the block's end."""
    out = []
    for at, piece in enumerate(pieces):
        thought, rest = block.feed(piece)
        out.append(thought)
        if rest is not None:
            return out, rest + "".join(pieces[at + 1 :])
    thought, rest = block.flush()
    return [*out, thought], rest


@pytest.mark.parametrize(
    ("pieces", "thoughts", "rest"),
    [
        (["a b", "</t>c"], ["a b", ""], "c"),
        (["a</", "t", ">", "c"], ["a", "", ""], "c"),
        (["a</", "x"], ["a", "</x", ""], None),
        (["a</t"], ["a", "</t"], None),
        # Nested: told apart from a tag that is only spoken of by what follows.
        (["a<t>b</t>", "c</t>d"], ["a<t>b", "</t>c"], "d"),
        (["a<t>b</t>", "c", "d"], ["a<t>b", "", "", ""], "cd"),
        (["a<t>b</t>c</t"], ["a<t>b", ""], "c</t"),
        (["<t>a<t>b</t>c</t>d"], ["<t>a<t>b</t>c", ""], "d"),
        (["<t>a</t><t>b</t>c</t>d"], ["<t>a</t><t>b</t>c"], "d"),
        # In code it is not counted.
        (["a `<t>` b</t>c"], ["a `<t>` b"], "c"),
        (["a `", "<t>` b</t>c"], ["a `", "<t>` b"], "c"),
        (["a `", "</t>", "` b</t>c"], ["a `", "", "</t>` b"], "c"),
        (["a ` b\n", "`", "</t>", "`\n</t>c"], ["a ` b\n", "`", "", "</t>`\n"], "c"),
        (["`a", "`</t>", "`c"], ["`a", "`"], "`c"),
        (["a `</t>"], ["a `", ""], ""),
    ],
)
def test_where_it_ends(pieces: list[str], thoughts: list[str], rest: str | None) -> None:
    assert run(Block("<t>", "</t>"), pieces) == (thoughts, rest)


def test_a_block_whose_opening_is_not_known_ends_with_any_closing_tag() -> None:
    assert run(Block("", "</t>", "[/T]"), ["a<t>", "b[/", "T]c</t>"]) == (["a<t>", "b", ""], "c</t>")


def test_after_a_flush_it_goes_on() -> None:
    block = Block("<t>", "</t>")
    assert [block.feed("a</"), block.flush(), block.feed("t>b</t>c")] == [("a", None), ("</", None), ("t>b", "c")]


def test_blanks_at_the_ends_are_dropped_and_inner_ones_kept() -> None:
    trimmed = Trimmed()
    trimmed.begin("\n")
    assert [trimmed.say(piece) for piece in ("\n ", " a", " \n", "b ", "\n")] == ["", "a", "", " \nb", ""]
    trimmed.begin("\n\n")
    assert [trimmed.say(piece) for piece in ("  ", "c", " ")] == ["", "\n\nc", ""]


def test_blanks_behind_an_empty_block_are_no_joint() -> None:
    trimmed = Trimmed()
    trimmed.begin("")
    assert trimmed.say(" \n") == ""
    trimmed.begin("\n\n")
    assert trimmed.say("a") == "a"
