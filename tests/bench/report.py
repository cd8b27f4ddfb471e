"""The figures as a table with ratios to the floor."""

from __future__ import annotations

from typing import Final

import attrs
from rich.table import Table

from tests.bench.loads import AGENT, BODY, ONE, ONE_STREAM, PACED, SMALL, TEXT, TOOLS
from tests.bench.rounds import OPEN, START, Results
from tests.bench.subjects import DIRECT, FLOOR


@attrs.frozen
class Row:
    """One line of the table: a load's figure; `added`: the direct upstream's is taken away."""

    title: str
    load: str
    figure: str
    added: bool = False
    digits: int = 2


def _whole(title: str, load: str, unit: str = "requests") -> list[Row]:
    return [
        Row(f"{title}: CPU ms", load, "cpu_ms"),
        Row(f"{title}: {unit}/s on one core", load, "per_second", digits=0),
    ]


ROWS: Final = (
    *_whole(SMALL.title, SMALL.name),
    *_whole(TEXT.title, TEXT.name, "answers"),
    Row(f"{TEXT.title}: CPU µs per chunk", TEXT.name, "chunk_us", digits=1),
    *_whole(TOOLS.title, TOOLS.name, "answers"),
    Row(f"{TOOLS.title}: CPU µs per chunk", TOOLS.name, "chunk_us", digits=1),
    Row(f"{PACED.title}: CPU ms", PACED.name, "cpu_ms"),
    Row(f"{PACED.title}: CPU µs per chunk", PACED.name, "chunk_us", digits=1),
    *_whole(AGENT.title, AGENT.name),
    *_whole(BODY.title, BODY.name),
    Row("one connection, small JSON: added ms, p50", ONE.name, "p50_ms", added=True),
    Row("one connection, small JSON: added ms, p99", ONE.name, "p99_ms", added=True),
    Row("one connection, stream: first token, added ms, p50", ONE_STREAM.name, "first_p50_ms", added=True),
    Row("one connection, stream: whole answer, added ms, p50", ONE_STREAM.name, "p50_ms", added=True),
    Row("open slow streams: kB each (PSS)", OPEN, "stream_kb", digits=1),
    Row("open slow streams: kB each (RSS)", OPEN, "stream_rss_kb", digits=1),
    Row("open slow streams: CPU µs per chunk", OPEN, "chunk_us", digits=1),
    Row("open slow streams: core busy", OPEN, "busy"),
    Row("open slow streams: chunks late by ms, p50", OPEN, "late_p50_ms"),
    Row("open slow streams: chunks late by ms, p99", OPEN, "late_p99_ms"),
    Row("start to first answer, s", START, "seconds"),
    Row("RSS after the start, MB", START, "rss_mb", digits=0),
    Row("RSS after all loads, MB", "after", "rss_mb", digits=0),
    Row("growth with chunks (1 = linear)", "chunks", "bend"),
    Row("growth with body size (1 = linear)", "sizes", "bend"),
)


def value(results: Results, subject: str, row: Row) -> float | None:
    """A cell's figure; None when it was not measured."""
    found = results.get(subject, {}).get(row.load, {}).get(row.figure)
    if found is None or not row.added:
        return found
    return found - results[DIRECT][row.load][row.figure]


def cells(results: Results) -> tuple[list[str], list[list[str]]]:
    """The table's head and its rows, as text."""
    names = [name for name in results if name != DIRECT]
    body = []
    for row in ROWS:
        values = [value(results, name, row) for name in names]
        if any(each is not None for each in values):
            floor = value(results, FLOOR, row)
            body.append([row.title, *(_cell(each, floor, row, name) for each, name in zip(values, names, strict=True))])
    return ["", *names], body


def table(results: Results) -> Table:
    """For the terminal."""
    head, body = cells(results)
    made = Table(title="figures, with the ratio to the floor")
    for number, name in enumerate(head):
        made.add_column(name, justify="right" if number else "left")
    for line in body:
        made.add_row(*line)
    return made


def _cell(found: float | None, floor: float | None, row: Row, name: str) -> str:
    if found is None:
        return ""
    text = f"{found:,.{row.digits}f}"
    if name == FLOOR or not floor or row.figure == "bend":
        return text
    return f"{text} ({found / floor:.2f}×)"
