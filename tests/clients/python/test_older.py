"""The same tests under an SDK of the 0.x line: another API version, another header for the key, no threads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.clients.installs import Installs

VERSION = "0.125.0"
PACKAGES = (f"anthropic=={VERSION}", "distro==1.9.0", "sniffio==1.3.1")
"""With what it needs beyond the current SDK's packages."""
ROOT = Path(__file__).parents[3]


def test_the_0x_line(installs: Installs) -> None:
    environment = os.environ | {"PYTHONPATH": str(installs.pip(f"anthropic-{VERSION}", *PACKAGES))}
    assert run(environment, "-c", "import anthropic; print(anthropic.__version__)") == f"{VERSION}\n"
    here = str(Path(__file__).parent.relative_to(ROOT))
    said = run(environment, "-m", "pytest", "-p", "no:cacheprovider", here, f"--ignore={here}/{Path(__file__).name}")
    print(said)
    found = re.search(r"^(\d+) passed", said, re.MULTILINE)
    assert found is not None, said
    assert int(found[1]) > 30


def run(environment: dict[str, str], *arguments: str) -> str:
    """What a Python of this environment prints; fails with all it said when it fails."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
    return done.stdout
