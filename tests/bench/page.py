"""The figures in docs/performance.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.bench import report, targets
from tests.bench.rounds import Results

BEGIN: Final = "<!-- figures: begin -->"
END: Final = "<!-- figures: end -->"


def write(file: Path, told: dict[str, Any], results: Results) -> None:
    """Put the tables between the page's two marks, or make a page of them alone."""
    before, _, rest = file.read_text().partition(BEGIN) if file.exists() else ("", "", "")
    after = rest.partition(END)[2] or "\n"
    file.write_text(f"{before}{BEGIN}\n\n{figures(told, results)}\n\n{END}{after}")


def figures(told: dict[str, Any], results: Results) -> str:
    """The conditions and both tables."""
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    machine = f"{told['cpu']}, {told['cores']} cores, {told['system']}; load average before: {told['load_before']}"
    head = f"{told['date']}. {machine}. Python {told['python']}; {versions}."
    return "\n\n".join([head, _table(*report.cells(results)), _table(targets.HEAD, targets.cells(results))])


def _table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
