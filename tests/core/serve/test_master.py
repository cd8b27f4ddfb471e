from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from core.serve import master as module
from core.serve.master import Master
from core.serve.settings import ServerError, ServerOptions
from core.serve.sockets import Doors, open_doors

OK = "exit status 0"


class Worker:
    """Stands in for a child: a test makes it ready or end; SIGTERM ends it when it is `obedient`, SIGKILL always."""

    def __init__(self, *, obedient: bool = True) -> None:
        self.obedient = obedient
        self.ready_since: float | None = None
        self.drain = self.grace = 0.0
        self.told = "what it serves"
        self.reason = ""
        self.pid = 7
        self.got: list[str] = []
        self._how: str | None = None
        self._ours, self._theirs = socket.socketpair()

    @property
    def waits(self) -> Sequence[Any]:
        return (self._ours,)

    def __del__(self) -> None:
        self._ours.close()
        self._theirs.close()

    def look(self) -> str | None:
        if self._how is not None:
            self._ours.close()
            self._theirs.close()
        else:
            self._ours.setblocking(False)
            while self.waiting():
                self._ours.recv(1)
        return self._how

    def waiting(self) -> bool:
        try:
            return bool(self._ours.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False

    def reload(self) -> None:
        self.got.append("reload")
        self._theirs.send(b"x")

    def send(self, number: signal.Signals) -> None:
        self.got.append(number.name)
        wait = self.grace and number == signal.SIGTERM
        if number == signal.SIGKILL or (self.obedient and not wait):
            self.end(f"signal {number.name}")

    def ready(self, since: float = 0.0) -> None:
        self.ready_since = time.monotonic() - since
        self._theirs.send(b"x")

    def end(self, how: str, reason: str = "") -> None:
        self._how, self.reason = how, reason
        self._theirs.send(b"x")


@pytest.fixture
def doors() -> Iterator[Doors]:
    made = open_doors(("127.0.0.1:0",))
    yield made
    made.close()


def run(
    doors: Doors,
    workers: int,
    begin: Callable[[int, Worker], None],
    on_ready: Callable[[], None],
    made: list[Worker] | None = None,
) -> list[Worker]:
    """Run a master; `begin` does something to each new worker. All that there were, which `made` has meanwhile."""
    made = [] if made is None else made

    def spawn(options: ServerOptions, given: Doors) -> Any:
        assert given is doors
        made.append(Worker())
        begin(len(made), made[-1])
        return made[-1]

    def ready(told: str) -> None:
        assert told == "what it serves"
        on_ready()

    Master(ServerOptions(workers=workers), doors, ready, spawn=cast("Any", spawn)).run()
    return made


def test_sigterm_ends_all(doors: Doors) -> None:
    ready: list[bool] = []

    def on_ready() -> None:
        ready.append(True)
        signal.raise_signal(signal.SIGTERM)

    made = run(doors, 3, lambda _, worker: worker.ready(), on_ready)
    assert [worker.got for worker in made] == [["SIGTERM"]] * 3
    assert (ready, doors.sockets[0].fileno()) == ([True], -1)


def test_sighup_goes_to_all(doors: Doors) -> None:
    def on_ready() -> None:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGINT)

    made = run(doors, 2, lambda _, worker: worker.ready(), on_ready)
    assert [worker.got for worker in made] == [["reload", "SIGTERM"]] * 2


def test_a_second_signal_ends_at_once(doors: Doors) -> None:
    def stubborn(_: int, worker: Worker) -> None:
        worker.obedient, worker.drain = False, 100.0
        worker.ready()

    def on_ready() -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    with capture_logs() as logs:
        made = run(doors, 2, stubborn, on_ready)
    assert [worker.got for worker in made] == [["SIGTERM", "SIGKILL"]] * 2
    assert [log["event"] for log in logs] == ["workers are killed"]


def test_a_second_signal_ends_the_grace(doors: Doors) -> None:
    def graceful(_: int, worker: Worker) -> None:
        worker.grace = worker.drain = 100.0
        worker.ready()

    def on_ready() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    made = run(doors, 2, graceful, on_ready)
    assert [worker.got for worker in made] == [["SIGTERM", "SIGUSR1"]] * 2
    assert doors.sockets[0].fileno() == -1


def test_a_third_signal_ends_at_once(doors: Doors) -> None:
    def stubborn(_: int, worker: Worker) -> None:
        worker.obedient, worker.grace, worker.drain = False, 100.0, 100.0
        worker.ready()

    def on_ready() -> None:
        for _ in range(3):
            signal.raise_signal(signal.SIGTERM)

    with capture_logs() as logs:
        made = run(doors, 1, stubborn, on_ready)
    assert made[0].got == ["SIGTERM", "SIGUSR1", "SIGKILL"]
    assert [log["event"] for log in logs] == ["workers are killed"]


def test_the_grace_is_no_time_to_kill_in(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    began: list[float] = []

    def stubborn(_: int, worker: Worker) -> None:
        worker.obedient, worker.grace, worker.drain = False, 0.2, 0.1
        worker.ready()

    def on_ready() -> None:
        began.append(time.monotonic())
        signal.raise_signal(signal.SIGTERM)

    made = run(doors, 1, stubborn, on_ready)
    assert made[0].got == ["SIGTERM", "SIGKILL"]
    assert time.monotonic() - began[0] >= 0.35


def test_a_failure_at_the_start_knows_no_grace(doors: Doors) -> None:
    made: list[Worker] = []

    def second_fails(number: int, worker: Worker) -> None:
        worker.grace = 100.0
        if number == 1:
            worker.ready()
        else:
            worker.end("signal SIGSEGV")

    with pytest.raises(ServerError):
        run(doors, 2, second_fails, lambda: pytest.fail("not all were ready"), made)
    assert made[0].got == ["SIGTERM", "SIGUSR1"]


def test_who_does_not_end_in_time_is_killed(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)

    def one_stubborn(number: int, worker: Worker) -> None:
        worker.obedient = number == 1
        worker.ready()

    made = run(doors, 2, one_stubborn, lambda: signal.raise_signal(signal.SIGTERM))
    assert [worker.got for worker in made] == [["SIGTERM"], ["SIGTERM", "SIGKILL"]]


@pytest.mark.parametrize(
    ("reason", "said"), [("no luck", "no luck"), ("", "a worker ended with signal SIGSEGV while it started")]
)
def test_a_failure_at_the_start_ends_all(doors: Doors, reason: str, said: str) -> None:
    made: list[Worker] = []

    def second_fails(number: int, worker: Worker) -> None:
        if number == 1:
            worker.ready()
        else:
            worker.end("signal SIGSEGV", reason)

    with pytest.raises(ServerError) as caught:
        run(doors, 2, second_fails, lambda: pytest.fail("not all were ready"), made)
    assert str(caught.value) == said
    assert made[0].got == ["SIGTERM"]
    assert doors.sockets[0].fileno() == -1


def test_one_that_dies_is_started_again_later_and_later(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(module, "LAST_PAUSE", 0.004)
    started: list[float] = []

    def begin(number: int, worker: Worker) -> None:
        started.append(time.monotonic())
        if number == 5:  # had served for long
            worker.ready(since=module.STEADY)
        elif number != 3:  # which never becomes ready
            worker.ready()
        if number == 7:
            signal.raise_signal(signal.SIGTERM)
        elif number > 1:
            worker.end("signal SIGKILL", "out of luck" if number == 3 else "")

    made: list[Worker] = []
    with capture_logs() as logs:
        run(doors, 1, begin, lambda: made[0].end(OK), made)
    assert [log["restart_in"] for log in logs] == [0.001, 0.002, 0.004, 0.004, 0.001, 0.002]
    assert [log["status"] for log in logs] == [OK, *["signal SIGKILL"] * 5]
    assert [log.get("why") for log in logs] == [None, None, "out of luck", None, None, None]
    assert {(log["event"], log["log_level"], log["pid"]) for log in logs} == {("a worker ended", "error", 7)}
    pauses = [log["restart_in"] for log in logs]
    assert all(later - sooner >= pause for sooner, later, pause in zip(started, started[1:], pauses, strict=False))


def test_what_fails_in_the_master_leaves_no_worker(doors: Doors) -> None:
    made: list[Worker] = []

    def begin(_: int, worker: Worker) -> None:
        worker.obedient = False
        worker.ready()

    def on_ready() -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run(doors, 2, begin, on_ready, made)
    assert [worker.got for worker in made] == [["SIGKILL"]] * 2


def test_a_worker_for_which_there_is_no_process(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)

    def begin(number: int, worker: Worker) -> None:
        if number == 2:
            raise BlockingIOError("no process")
        worker.ready()
        if number == 3:
            signal.raise_signal(signal.SIGTERM)

    made: list[Worker] = []
    with capture_logs() as logs:
        run(doors, 1, begin, lambda: made[0].end(OK), made)
    assert [log.get("why") for log in logs] == [None, "no process"]
    assert made[2].got == ["SIGTERM"]


def test_a_first_worker_for_which_there_is_no_process(doors: Doors) -> None:
    def begin(number: int, worker: Worker) -> None:
        if number == 2:
            raise BlockingIOError("no process")

    made: list[Worker] = []
    with pytest.raises(ServerError, match="a worker cannot be started: no process"):
        run(doors, 2, begin, lambda: pytest.fail("not all were ready"), made)
    assert made[0].got == ["SIGTERM"]
