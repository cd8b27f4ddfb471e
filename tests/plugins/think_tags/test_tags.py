from __future__ import annotations

import pytest

from plugins.think_tags.tags import MARKS, PAIRS, Found, Tags, tags_of

TAGS = Tags(["<a>", "<ab>", "[A]", "<a>"])


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<a>", "<a>"),
        ("<a> b", "<a>"),
        ("<ab>", "<ab>"),
        ("[A]]", "[A]"),
        ("", None),
        ("<", None),
        ("<ab", None),
        ("[", None),
        ("a", ""),
        (" <a>", ""),
        ("<b>", ""),
        ("<aa", ""),
    ],
)
def test_the_beginning(text: str, tag: str | None) -> None:
    assert TAGS.begin(text) == tag


@pytest.mark.parametrize(
    ("text", "start", "found"),
    [
        ("", 0, Found(0, "")),
        ("abc", 0, Found(3, "")),
        ("b <ab> <a>", 0, Found(2, "<ab>")),
        ("b <ab> <a>", 3, Found(7, "<a>")),
        ("<<a>", 0, Found(1, "<a>")),
        ("b <a", 0, Found(2, "")),
        ("b <[A", 0, Found(3, "")),
        ("b <c", 0, Found(4, "")),
        ("<x<ab", 0, Found(2, "")),
        ("<a", 1, Found(2, "")),
    ],
)
def test_anywhere(text: str, start: int, found: Found) -> None:
    assert TAGS.find(text, start) == found


def test_no_tags() -> None:
    assert Tags([]).find("<a>") == Found(3, "")
    assert Tags([]).begin("<a>") == ""


def test_the_defaults_can_be_told_apart() -> None:
    every = {*MARKS, *(tag for pair in PAIRS for tag in pair)}
    assert not [(one, two) for one in every for two in every if one != two and two.startswith(one)]
    assert all(tag == tag.strip() for tag in every)


def test_the_same_tags_are_made_ready_once() -> None:
    assert tags_of("<a>", "<b>") is tags_of("<a>", "<b>")
    assert tags_of("<a>").find("x<a>") == Found(1, "<a>")
