"""`make soak`: a soak as long and as large as wanted; exit status 1 when anything was wrong."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.soak.soak import Options, soak


def main() -> int:
    """Run it and print its report."""
    parser = argparse.ArgumentParser(prog="make soak ARGS=", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long the load lasts")
    parser.add_argument("--streams", type=int, default=1000, help="requests that run at once")
    parser.add_argument("--seed", type=int, default=1, help="another number is another soak")
    parser.add_argument("--keep", type=Path, help="a folder for the server's log; else it is thrown away")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report = soak(folder, Options(60 * given.minutes, given.streams, given.seed))
    print("\n".join(report.lines()))
    return bool(report.complaints)


if __name__ == "__main__":
    sys.exit(main())
