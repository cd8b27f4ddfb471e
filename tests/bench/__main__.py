"""The benchmark's command: `python -m tests.bench --help`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson
import uvloop
from rich.console import Console

from tests.bench import page, report, stop_scan, targets
from tests.bench.conditions import conditions
from tests.bench.loads import AGENT, BODY, SMALL, TEXT, TOOLS
from tests.bench.process import Process, cores, free_port
from tests.bench.rounds import QUICK, Plan, Results, Run
from tests.bench.subjects import DIRECT, subjects


def main() -> None:
    """Measure, print, and write what was asked for."""
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 140)
    told = conditions()
    found = subjects(options.peer)
    os.sched_setaffinity(0, {cores()[0]})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are ended then, too
    with tempfile.TemporaryDirectory() as home:
        port = options.upstream_port or free_port()
        script = [sys.executable, "-m", "tests.bench.upstream", str(port), "--per-write", str(options.per_write)]
        upstream = Process(script, cores()[0], Path(home) / "upstream.log")
        try:
            upstream.wait_until_ready(port)
            run = Run(QUICK if options.quick else Plan(), found, (port, upstream), Path(home), _say)
            results = uvloop.run(run.run())
        finally:
            upstream.stop()
    scan = stop_scan.costs()
    _print(console, results, scan)
    everything = {"conditions": told, "figures": results, "stop_scan_us": scan, "rounds": run.raw}
    if options.json:
        options.json.write_bytes(orjson.dumps(everything, option=orjson.OPT_INDENT_2))
    if options.markdown:
        page.write(options.markdown, told, results)


def _say(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="hookline's benchmark")
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer requests, 200 open streams")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures, of each round too")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables into this page, between its marks"
    )
    parser.add_argument("--per-write", type=int, default=1, metavar="N", help="chunks in one write of the upstream")
    parser.add_argument("--upstream-port", type=int, metavar="PORT", help="where the scripted upstream listens")
    parser.add_argument(
        "--peer", default="", metavar="COMMAND", help="another gateway; {port} and {upstream} are filled in"
    )
    return parser.parse_args()


def _print(console: Console, results: Results, scan: dict[str, float]) -> None:
    console.print(report.table(results))
    console.print(targets.table(results))
    console.print("what stop_scan costs for a piece, in µs, by its stop sequences:")
    for name, cost in scan.items():
        console.print(f"  {name:26} {cost:6.2f}")
    console.print("is the server the bottleneck? how busy the core of load and upstream was, and what it does alone:")
    for load in (SMALL, TEXT, TOOLS, AGENT, BODY):
        shares = ", ".join(
            f"{subject} {loads[load.name]['load_busy']:.0%} (server {loads[load.name]['busy']:.0%})"
            for subject, loads in results.items()
            if subject != DIRECT and load.name in loads
        )
        console.print(f"  {load.name}: {shares}; alone {results[DIRECT][load.name]['per_second']:,.0f}/s")


if __name__ == "__main__":
    main()
