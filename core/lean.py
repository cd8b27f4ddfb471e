"""What a start can do without."""

from __future__ import annotations

import sys


def import_structlog() -> None:
    """Import structlog without rich, unless one of them is here already.

    Where rich is installed, structlog takes it along for consoles. Ours is JSON, and a sixth of a process's start and
    five megabytes of it are too much for what is never used.
    """
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import structlog  # noqa: F401, PLC0415
    finally:
        del sys.modules["rich"]
