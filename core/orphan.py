"""Workers end with their master: Hypercorn's live on, and keep the port, when the master is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


def end_with_master() -> None:
    """End this process as soon as the one that spawned it as a worker is gone; else there is nothing to do."""
    master = multiprocessing.parent_process()
    if master is not None:
        threading.Thread(target=_watch, args=(master,), name="master-watch", daemon=True).start()


def _watch(master: multiprocessing.process.BaseProcess) -> None:
    master.join()
    os.kill(os.getpid(), signal.SIGTERM)
