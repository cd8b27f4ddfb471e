"""Where and with what a run was made."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

_PACKAGES: Final = ("hookline", "hypercorn", "uvloop", "h11", "httpx", "httpx-aiohttp", "aiohttp", "orjson", "anyio")


def conditions() -> dict[str, Any]:
    """Date, machine, versions, and how busy the machine was with other things."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
        "load_before": round(os.getloadavg()[0], 2),
    }


def _cpu() -> str:
    """The processor's name, with what tells processors of one name apart."""
    found: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, told = line.partition(":")
        found.setdefault(key.strip(), told.strip())
    family = "/".join(found.get(key, "?") for key in ("cpu family", "model", "stepping"))
    return f"{found.get('model name', platform.machine())} ({family}, {found.get('cpu MHz', '?')} MHz)"
