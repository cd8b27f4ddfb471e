from __future__ import annotations

from pathlib import Path

import attrs

from core import Request, Usage
from plugins.metrics.keyed import Keyed
from plugins.metrics.values import Files
from tests.plugins.metrics.samples import answered, value
from tests.plugins.metrics.test_meters import page


def test_requests_and_tokens_by_key(tmp_path: Path) -> None:
    keyed = Keyed(Files(tmp_path, "1-a"))
    keyed.take(attrs.evolve(answered(), key="ci"), "end_turn")
    keyed.take(attrs.evolve(answered(), key="ci"), "end_turn")
    keyed.take(attrs.evolve(answered(), key="ci", usage=None), "left")
    keyed.take(attrs.evolve(answered(), key="team", usage=Usage(-1, 7)), "end_turn")
    found = page(tmp_path)
    assert value(found, "hookline_key_requests_total", key="ci", outcome="end_turn") == 2
    assert value(found, "hookline_key_requests_total", key="ci", outcome="left") == 1
    assert value(found, "hookline_key_tokens_total", key="ci", direction="input") == 60
    assert value(found, "hookline_key_tokens_total", key="ci", direction="output") == 10
    assert value(found, "hookline_key_tokens_total", key="team") == 7


def test_without_a_key_there_is_no_series_and_counts_are_no_tokens(tmp_path: Path) -> None:
    keyed = Keyed(Files(tmp_path, "1-a"))
    keyed.take(answered(), "end_turn")
    assert not [name for name, _ in page(tmp_path) if "key" in name]
    keyed.take(attrs.evolve(answered(), key="ci", request=Request("count_tokens", model="m")), "ok")
    assert {name for name, _ in page(tmp_path) if "key" in name} == {"hookline_key_requests_total"}
