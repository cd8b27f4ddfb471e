from __future__ import annotations

import subprocess
import sys


def test_who_starts_a_server_imports_nothing_of_what_serves() -> None:
    """The master is small, and soon there."""
    served = {"hypercorn", "httpx", "core.chat", "core.loader", "core.asgi"}
    code = f"import core.cli.command, sys; print([name for name in sys.modules if name in {served!r}])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
