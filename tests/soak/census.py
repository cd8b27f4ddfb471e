"""A plugin that counts what lives in its worker: a page at /soak/census."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
from pathlib import Path

import attrs

from core import HTTPRequest, Page, hookimpl


@attrs.frozen(eq=False)
class Census:
    """Answers `GET /soak/census` with the worker's process id, tasks, threads and files."""

    @hookimpl
    def page(self, http: HTTPRequest) -> Page | None:
        """The counts, after a collection of garbage."""
        if http.path != "/soak/census":
            return None
        gc.collect()
        files = len(list(Path("/proc/self/fd").iterdir()))
        counts = {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count(), "files": files}
        return Page(json.dumps({"pid": os.getpid(), **counts}).encode(), "application/json")
