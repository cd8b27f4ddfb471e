from __future__ import annotations

from core import Traffic


def test_two_pipelines_of_one_name_are_two() -> None:
    before, after = Traffic("p"), Traffic("p")
    assert len({before, after}) == 2
    assert (before.running, before.backends) == (0, {})
