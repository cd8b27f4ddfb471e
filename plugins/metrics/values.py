"""Numbers that all workers of a server share: each writes its own files, and whoever is scraped sums all of them.

The files are those of prometheus_client's multiprocess mode. Its metric classes are not used: they take their directory
from the environment, once, when they are first imported, and a write costs more.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from typing import Final, Literal

import attrs
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.utils import floatToGoString

Kind = Literal["counter", "histogram", "gauge"]

PREFIX: Final[dict[Kind, str]] = {"counter": "counter", "histogram": "histogram", "gauge": "gauge_livesum"}
"""How the names of the files begin; a live gauge's is taken away with its worker."""

SIZE: Final = 1 << 16
"""Bytes of a file at first; it doubles when it is full."""

_AROUND: Final = 64
"""Bytes that an entry needs beside its key, and more."""

_put: Final = struct.Struct("d").pack_into


@attrs.define(eq=False)
class Value:
    """One number of one worker."""

    file: File
    place: int
    """Where it stands in the file."""
    now: float = 0.0

    def add(self, amount: float) -> None:
        """Change it by the amount."""
        self.now += amount
        # Past `write_value`, which looks for the place each time: there are a dozen numbers to a request.
        _put(self.file.memory, self.place, self.now)


@attrs.frozen(eq=False)
class Distribution:
    """A histogram of one worker, with one set of labels. The reader makes each bucket the sum of those before it."""

    bounds: tuple[float, ...]
    total: Value
    counts: tuple[Value, ...]

    def observe(self, value: float) -> None:
        """Count a value."""
        self.total.add(value)
        self.counts[bisect_left(self.bounds, value)].add(1)


class File(MmapedDict):
    """A file whose space is there before it is used: a write that found the disk full would end the process."""

    def __init__(self, path: Path) -> None:
        with path.open("ab") as file:
            _allocate(file.fileno(), SIZE)
        super().__init__(str(path))  # type: ignore[no-untyped-call]

    @property
    def memory(self) -> mmap:
        """The file's content; it is another once the file has grown."""
        return self._m

    def place(self, key: str) -> int:
        """Where the key's number stands; room is made for a new one."""
        self.read_value(key)  # type: ignore[no-untyped-call]
        return self._positions[key]  # type: ignore[no-any-return]

    def __del__(self) -> None:
        # Not at the end of serving: what still runs after a reload has yet to be counted.
        if getattr(self, "_f", None) is not None:
            self.close()  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        if self._used + len(key.encode()) + _AROUND > self._capacity:
            _allocate(self._f.fileno(), 2 * self._capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]


class Files:
    """A worker's files, open for writing: one per kind of metric. One thread may write. Raises OSError."""

    def __init__(self, directory: Path, seat: str) -> None:
        self._files: dict[Kind, File] = {kind: File(directory / f"{PREFIX[kind]}_{seat}.db") for kind in PREFIX}

    def value(self, kind: Kind, metric: Metric, labels: Sequence[str], *, suffix: str = "") -> Value:
        """A number, which is there from now on. A suffix is put behind the metric's name."""
        return self._value(kind, metric, metric.labels, labels, suffix)

    def distribution(self, metric: Metric, labels: Sequence[str], bounds: tuple[float, ...]) -> Distribution:
        """A histogram; `bounds` are the upper bounds of its buckets, without the last, infinite one."""
        total = self._value("histogram", metric, metric.labels, labels, "_sum")
        names = (*metric.labels, "le")
        counts = (
            self._value("histogram", metric, names, (*labels, floatToGoString(bound)), "_bucket")
            for bound in (*bounds, float("inf"))
        )
        return Distribution(bounds, total, tuple(counts))

    def _value(self, kind: Kind, metric: Metric, names: Sequence[str], labels: Sequence[str], suffix: str) -> Value:
        key = mmap_key(metric.name, metric.name + suffix, list(names), list(labels), metric.help)
        file = self._files[kind]
        return Value(file, file.place(key))


@attrs.frozen
class Metric:
    """Name, help and label names of a metric; a counter's name is without `_total`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


def _allocate(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):  # not on macOS
        os.posix_fallocate(file, 0, size)
