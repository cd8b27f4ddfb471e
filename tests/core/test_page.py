from __future__ import annotations

from core import Page


def test_a_page_is_text_and_well_unless_it_says_else() -> None:
    assert Page(b"x") == Page(b"x", "text/plain; charset=utf-8", 200)
