"""What a worker of Hypercorn's can know of its master: that it is gone, or wants the workers to end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any


def end_with_master() -> None:
    """End this process as soon as the one that spawned it as a worker is gone; else there is nothing to do.

    Hypercorn's workers live on, and keep the port, when their master is killed.
    """
    master = multiprocessing.parent_process()
    if master is not None:
        threading.Thread(target=_watch, args=(master,), name="master-watch", daemon=True).start()


def shutdown_asked() -> Callable[[], bool]:
    """Whether Hypercorn's master has told its workers to end, as far as that can be known.

    Hypercorn 0.18 tells an application only when all connections are done, and from Python 3.12 waits for these without
    limit. Its workers have the event that it sets among the arguments of their process.
    """
    event: Any = getattr(multiprocessing.current_process(), "_kwargs", {}).get("shutdown_event")
    return event.is_set if callable(getattr(event, "is_set", None)) else lambda: False


def _watch(master: multiprocessing.process.BaseProcess) -> None:
    master.join()
    os.kill(os.getpid(), signal.SIGTERM)
