from __future__ import annotations

from plugins.metrics.names import LONGEST, OTHER, Names


def test_so_many_and_no_more() -> None:
    names = Names(2)
    assert [names.label(name, served=True) for name in ("a", "b", "c", "a")] == ["a", "b", OTHER, "a"]


def test_what_no_engine_took_gets_no_place() -> None:
    names = Names(1)
    assert names.label("junk", served=False) == OTHER
    assert names.label("real", served=True) == "real"
    assert names.label("real", served=False) == "real"


def test_no_name_is_no_name() -> None:
    assert Names(1).label("", served=False) == ""


def test_a_label_is_short_text() -> None:
    names = Names(9)
    assert names.label("x" * (LONGEST + 1), served=True) == OTHER
    assert names.label("a\ud800b", served=True) == "a?b"


def test_a_clients_key_is_no_name() -> None:
    assert Names(9).label("hl-0123456789-abcdefghijklmnop", served=True) == OTHER
