from __future__ import annotations

import signal
from multiprocessing.connection import wait
from typing import Any

from core.serve.signals import Signals


def test_signals_can_be_waited_for() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with Signals([signal.SIGHUP, signal.SIGUSR1]) as signals:
        things: list[Any] = [signals]
        assert wait(things, 0) == []
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGHUP)
        assert wait(things, 5) == things
        assert signals.read() == [signal.SIGUSR1, signal.SIGHUP]
        assert signals.read() == []
    assert signal.getsignal(signal.SIGHUP) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_other_signals_are_none_of_ours() -> None:
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    with Signals([signal.SIGHUP]) as signals:
        signal.raise_signal(signal.SIGUSR2)
        assert signals.read() == []
    signal.signal(signal.SIGUSR2, before)
