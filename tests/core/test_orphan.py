from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import Any

import pytest

from core.orphan import end_with_master


class Master:
    def __init__(self) -> None:
        self.gone = threading.Event()

    def join(self) -> None:
        self.gone.wait(5)


def test_a_worker_ends_with_its_master(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    done = threading.Event()

    def kill(*arguments: Any) -> None:
        killed.append(arguments)
        done.set()

    master = Master()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: master)
    monkeypatch.setattr("core.orphan.os.kill", kill)
    end_with_master()
    assert killed == []
    master.gone.set()
    assert done.wait(5)
    assert killed == [(os.getpid(), signal.SIGTERM)]


def test_a_process_without_a_master_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: None)
    before = threading.active_count()
    end_with_master()
    assert threading.active_count() == before
