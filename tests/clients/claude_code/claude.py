"""One run of Claude Code in print mode."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import attrs

VERSION = "2.1.332"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
LIMIT = 60
"""Seconds for one run."""

QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
)
"""Switches that leave the gateway as its only address."""


@attrs.frozen
class Outcome:
    """How a run ended: the command line's JSON result, its exit status, its error output."""

    result: dict[str, Any]
    status: int
    said: str

    @property
    def text(self) -> str:
        """The final text; the whole outcome is in the failure when the run failed."""
        assert self.status == 0, self
        assert not self.result["is_error"], self
        return self.result["result"]  # type: ignore[no-any-return]


@attrs.define
class Claude:
    """Claude Code, installed, with a gateway for all its requests; `runs` counts the runs that came to an end."""

    binary: Path
    gateway: str
    runs: int = 0

    def run(self, place: Path, model: str, prompt: str, *arguments: str, **environment: str) -> Outcome:
        """Ask in print mode; HOME and the working directory are made below `place`."""
        home, here = place / "home", place / "here"
        home.mkdir()
        here.mkdir()
        done = subprocess.run(
            [self.binary, "-p", prompt, "--model", model, "--output-format", "json", *arguments],
            cwd=here,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "ANTHROPIC_BASE_URL": self.gateway,
                "ANTHROPIC_API_KEY": "client-secret",
                "CLAUDE_CODE_MAX_RETRIES": "2",
                **dict.fromkeys(QUIET, "1"),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"Claude Code gave no JSON: {done}") from None
        self.runs += 1
        return Outcome(result, done.returncode, done.stderr)
