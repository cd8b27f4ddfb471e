"""What is seen of the server from outside: its log, and its workers in /proc."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs

_PROC: Final = Path("/proc")


class Log:
    """The server's log, read bit by bit; requests are counted, everything else is kept."""

    def __init__(self, path: Path) -> None:
        self.requests = 0
        self.lines: list[dict[str, Any]] = []
        self.others: list[str] = []
        """What is no JSON: a traceback of the interpreter's, say."""
        self._file = path.open("rb")
        self._rest = b""

    def read(self) -> None:
        """Take in what has been written since."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            if b'"event":"request"' in line and b"Traceback" not in line:
                self.requests += 1
            elif line.startswith(b"{"):
                self.lines.append(json.loads(line))
            else:
                self.others.append(line.decode(errors="replace"))

    def times(self, event: str, workers: list[int]) -> int:
        """How often each of these workers has told that event, at the least."""
        self.read()
        told = [line.get("worker") for line in self.lines if line["event"] == event]
        return min(told.count(worker) for worker in workers)

    def count(self, event: str) -> int:
        """How many lines have this event."""
        return sum(line["event"] == event for line in self.lines)

    def close(self) -> None:
        """Read no more."""
        self._file.close()


@attrs.frozen
class Sample:
    """One look at the workers: bytes of resident memory and open files of each, and what the upstream counts."""

    at: float
    rss: Mapping[int, int]
    files: Mapping[int, int]
    flying: int
    upstream: int


def rss_of(pid: int) -> int:
    """Bytes of resident memory; 0: there is no such process."""
    with suppress(OSError):
        found = re.search(r"^VmRSS:\s+(\d+) kB", (_PROC / str(pid) / "status").read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    return 0


def files_of(pid: int) -> int:
    """How many files it has open."""
    with suppress(OSError):
        return len(list((_PROC / str(pid) / "fd").iterdir()))
    return 0


def stopped(pid: int) -> bool:
    """Whether SIGSTOP has reached each of its threads."""
    stats = [(task / "stat").read_text() for task in (_PROC / str(pid) / "task").iterdir()]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def clients_of(pid: int, port: int) -> set[int]:
    """The ports of the clients whose connection to this port the process holds."""
    inodes = set()
    for entry in (_PROC / str(pid) / "fd").iterdir():
        with suppress(OSError):
            if found := re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink())):
                inodes.add(found[1])
    # A table that changes while it is read may lack some rows.
    tables = [(_PROC / str(pid) / "net" / "tcp").read_text().splitlines()[1:] for _ in range(5)]
    rows = [line.split() for table in tables for line in table]
    here = f":{port:04X}"
    return {int(row[2].rpartition(":")[2], 16) for row in rows if row[1].endswith(here) and row[9] in inodes}


def growth(samples: list[Sample], begin: float, end: float) -> dict[int, int]:
    """By worker, how much its memory grew from the first quarter's end to the end, in bytes.

    Medians over a tenth of the time: what a single look sees is what happens to be on its way.
    """
    tenth = (end - begin) / 10
    first = [each for each in samples if begin + 2.5 * tenth <= each.at <= begin + 3.5 * tenth]
    last = [each for each in samples if end - tenth <= each.at <= end]
    workers = set(first[0].rss) & set(last[-1].rss) if first and last else set()
    return {pid: _median(last, pid) - _median(first, pid) for pid in workers}


def _median(samples: list[Sample], pid: int) -> int:
    return int(statistics.median(each.rss[pid] for each in samples if each.rss.get(pid)))
