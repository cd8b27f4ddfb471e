from __future__ import annotations

import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from plugins.metrics.run import Run, run_name
from plugins.metrics.scrape import page_of
from plugins.metrics.sums import Sums
from plugins.metrics.values import Files, Metric
from tests.plugins.metrics.samples import parsed, value

COUNT = Metric("c", "Counts.")
NOW = Metric("g", "Now.")


def count(run: Run, amount: int) -> None:
    files = Files(run.directory, run.seat)
    files.value("counter", COUNT, [], suffix="_total").add(amount)
    files.value("gauge", NOW, []).add(amount)


def in_another_process(work: Callable[[], None]) -> None:
    """It ends without cleaning anything up."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(process, 0)


def test_a_directory_for_this_user_alone_that_goes_with_the_last(tmp_path: Path) -> None:
    base = tmp_path / "base"
    first, second = Run.join(base, "r"), Run.join(base, "r")
    assert first.directory == second.directory
    assert first.seat != second.seat
    assert {stat.S_IMODE(path.stat().st_mode) for path in (base, first.directory)} == {0o700}
    first.leave()
    assert first.directory.exists()
    second.leave()
    assert list(base.iterdir()) == []


def test_two_servers_have_two(tmp_path: Path) -> None:
    one, other = Run.join(tmp_path / "b", "one"), Run.join(tmp_path / "b", "other")
    count(one, 1)
    count(other, 2)
    assert value(parsed(page_of(one, Sums())), "c_total") == 1
    one.leave()
    assert value(parsed(page_of(other, Sums())), "c_total") == 2
    other.leave()


@pytest.mark.parametrize("times", [1, 3])
def test_the_dead_still_count_but_are_not_there_any_more(tmp_path: Path, times: int) -> None:
    run = Run.join(tmp_path / "b", "r")
    count(run, 1)
    for _ in range(times):
        in_another_process(lambda: count(Run.join(tmp_path / "b", "r"), 10))
        found = parsed(page_of(run, Sums()))
    assert value(found, "c_total") == 1 + 10 * times
    assert value(found, "g") == 1
    assert value(found, "hookline_workers") == 1
    assert len(list(run.directory.glob("counter_*.db"))) == 2
    assert len(list(run.directory.glob("*.alive"))) == 1
    run.leave()


def test_a_run_whose_workers_were_killed_is_swept_away(tmp_path: Path) -> None:
    in_another_process(lambda: count(Run.join(tmp_path / "b", "old"), 1))
    assert (tmp_path / "b" / "old").exists()
    run = Run.join(tmp_path / "b", "new")
    assert not (tmp_path / "b" / "old").exists()
    run.leave()


def test_a_child_of_a_worker_takes_nothing_away(tmp_path: Path) -> None:
    run = Run.join(tmp_path / "b", "r")
    in_another_process(run.leave)
    with run.reading() as living:
        assert living == [os.getpid()]
    assert run.directory.exists()
    run.leave()


def test_only_the_first_of_a_run_is_asked(tmp_path: Path) -> None:
    asked: list[int] = []
    runs = [Run.join(tmp_path / "b", "r", if_first=lambda: asked.append(1)) for _ in range(2)]
    assert asked == [1]
    for run in runs:
        run.leave()


def test_who_is_refused_leaves_nothing(tmp_path: Path) -> None:
    def refuse() -> None:
        raise OSError("taken")

    with pytest.raises(OSError, match="taken"):
        Run.join(tmp_path / "b", "r", if_first=refuse)
    assert list((tmp_path / "b").iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_place_that_others_can_enter_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match="not a directory of this user's alone"):
        Run.join(tmp_path, "r")


def test_a_link_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(PermissionError):
        Run.join(tmp_path / "link", "r")


def test_children_of_one_master_have_one_name() -> None:
    spawning = multiprocessing.get_context("spawn")
    with spawning.Pool(2) as pool:
        names = set(pool.map(_name, range(4), chunksize=1))
    assert len(names) == 1
    assert run_name() == run_name()
    assert len(run_name()) == 24


def _name(_: int) -> str:
    return run_name()
