"""A tiny run of everything that the benchmark measures: it works, and its answers are whole. Nothing here is about speed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import orjson
import pytest
import uvloop

from tests.bench import answers, bodies, growth, page, report, targets
from tests.bench.conditions import conditions
from tests.bench.loads import LOADS, PACED
from tests.bench.process import Process, cores, free_port
from tests.bench.rounds import OPEN, START, Plan, Results, Run
from tests.bench.subjects import DIRECT, FLOOR, PLAIN, WRAPPED, subjects

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the benchmark reads /proc and pins processes"
)

PACED_BRIEFLY = attrs.evolve(PACED, body=lambda: bodies.streamed("text-10-1"))
TINY = Plan(
    rounds=1,
    factor=0.001,
    streams=3,
    stream_seconds=0.1,
    stream_rounds=0,
    loads=[PACED_BRIEFLY if load is PACED else load for load in LOADS],
    chunks=(10, 20, 40, 80),
    sizes=(1, 2, 3, 4),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    home, port = tmp_path_factory.mktemp("bench"), free_port()
    script = [sys.executable, "-m", "tests.bench.upstream", str(port)]
    upstream = Process(script, cores()[0], home / "upstream.log")
    try:
        upstream.wait_until_ready(port)
        chosen = [subject for subject in subjects() if subject.name in (FLOOR, WRAPPED)]
        yield uvloop.run(Run(TINY, chosen, (port, upstream), home).run())
    finally:
        upstream.stop()
        assert not upstream.pids()


def test_every_load_gives_figures(results: Results) -> None:
    for subject in (FLOOR, WRAPPED):
        assert set(results[subject]) == {*(load.name for load in LOADS), OPEN, START, "after", "chunks", "sizes"}
        assert all(results[subject][load.name]["cpu_ms"] > 0 for load in LOADS)
        assert results[subject][OPEN]["delivered"] > 0
    assert set(results[DIRECT]) == {load.name for load in LOADS}


def test_the_tables_hold_every_figure(results: Results) -> None:
    head, body = report.cells(results)
    assert head == ["", FLOOR, WRAPPED]
    assert len(body) == len(report.ROWS)
    assert all("×)" in line[2] or "growth" in line[0] for line in body)
    assert report.table(results).row_count == len(body)
    told = targets.cells({**results, PLAIN: results[WRAPPED]})
    assert [line for line in told if line[0].startswith("CPU of a small request")]
    assert all(line[3] in ("yes", "no") for line in told)


def test_a_page_gets_new_figures_between_its_marks(results: Results, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.write(file, conditions(), results)
    before, _, rest = file.read_text().partition(page.BEGIN)
    figures, _, after = rest.partition(page.END)
    assert (before, after) == ("before\n", "\nafter\n")
    assert "old" not in figures
    assert figures.count("| small JSON: CPU ms |") == 1


def test_an_agent_request_is_what_it_says() -> None:
    body = orjson.loads(bodies.agent())
    assert (len(body["messages"]), len(body["tools"])) == (150, 40)
    assert 370_000 < len(bodies.agent()) < 395_000


def test_a_large_body_has_its_size() -> None:
    assert 1_950_000 < len(bodies.large(2_000_000)) < 2_050_000


@pytest.mark.parametrize("model", ["text-200", "tool-200"])
def test_a_stream_has_a_write_for_each_chunk(model: str) -> None:
    writes = answers.stream(model)
    assert len(writes) == 200 + len(["role", "finish", "usage", "[DONE]"])
    assert b"".join(answers.stream(model, 8)) == b"".join(writes)
    assert answers.FIRST.encode() in b"".join(writes)


def test_chunks_may_come_one_by_one() -> None:
    assert answers.pause("text-200-5") == 0.005
    assert answers.pause("text-200") == 0
    assert len(answers.stream("text-200-5")) == 204


def test_a_bend_is_one_for_a_line() -> None:
    assert growth.bend({1: 5.0, 2: 6.0, 4: 8.0, 8: 12.0}) == pytest.approx(1)
    assert growth.bend({1: 1.0, 2: 4.0, 4: 16.0, 8: 64.0}) == pytest.approx(4)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", "raise SystemExit('no such thing')"], cores()[1], tmp_path / "log")
    with pytest.raises(RuntimeError, match="no such thing"):
        process.wait_until_ready(free_port())
