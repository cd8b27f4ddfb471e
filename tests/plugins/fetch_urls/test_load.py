from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import attrs
import pytest
from structlog.testing import capture_logs

from plugins.fetch_urls.errors import BusyError, FetchError, LimitError
from plugins.fetch_urls.fetch import Allowance, Fetcher
from plugins.fetch_urls.guard import Guard
from plugins.fetch_urls.kept import Kept
from plugins.fetch_urls.kinds import Fetched, Wanted
from plugins.fetch_urls.load import OF_ONE, Limits, Loader
from plugins.fetch_urls.names import Names
from tests.plugins.fetch_urls.place import no_tls

pytestmark = pytest.mark.anyio

MANY = [Wanted("image", f"https://a.example/{number}") for number in range(12)]
FILE = Fetched("image/png", "QUJD")


@attrs.define(eq=False)
class Fake:
    """A fetcher without a network."""

    answer: Callable[[Wanted], Fetched | Exception] = attrs.field(default=lambda _: FILE)
    hold: anyio.Event | None = None
    asked: list[Wanted] = attrs.field(factory=list)
    now: int = 0
    most: int = 0

    async def fetch(self, wanted: Wanted, allowance: Allowance, owner: str = "") -> Fetched:
        self.asked.append(wanted)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.lowlevel.checkpoint()
            if self.hold is not None:
                await self.hold.wait()
            allowance.take(3)
        finally:
            self.now -= 1
        answer = self.answer(wanted)
        if isinstance(answer, Exception):
            raise answer
        return answer


def loader(fake: Fake, kept: Kept | None = None, **limits: Any) -> Loader:
    given = {"urls": 20, "total_bytes": 1000, "seconds": 10.0, "at_once": 16, **limits}
    return Loader(fake, kept or Kept(10**6, 300), Limits(**given))  # type: ignore[arg-type]


async def test_each_is_fetched_once_and_then_kept() -> None:
    fake = Fake()
    given = loader(fake)
    assert await given.load(MANY) == dict.fromkeys(MANY, FILE)
    assert fake.asked == MANY
    assert await given.load(MANY) == dict.fromkeys(MANY, FILE)
    assert fake.asked == MANY


async def test_a_failure_is_kept_too_without_what_it_holds() -> None:
    def fail(_: Wanted) -> Exception:
        error = FetchError("it is gone")
        error.__cause__ = OSError("inside")
        return error

    fake = Fake(fail)
    given = loader(fake)
    for _ in range(2):
        (outcome,) = (await given.load(MANY[:1])).values()
        assert str(outcome) == "it is gone"
        assert isinstance(outcome, FetchError)
        assert (outcome.__cause__, outcome.__traceback__) == (None, None)
    assert len(fake.asked) == 1


async def test_one_request_takes_few_places() -> None:
    fake = Fake()
    await loader(fake).load(MANY)
    assert fake.most == OF_ONE


async def test_all_requests_take_so_many_places() -> None:
    fake = Fake()
    given = loader(fake, at_once=6)
    async with anyio.create_task_group() as group:
        for start in (0, 4, 8):
            group.start_soon(given.load, MANY[start : start + 4])
    assert fake.most == 6
    assert len(fake.asked) == 12


async def test_more_than_the_limit_are_not_fetched() -> None:
    fake = Fake()
    found = await loader(fake, urls=3).load(MANY[:5])
    assert fake.asked == MANY[:3]
    assert [str(found[each]) for each in MANY[3:5]] == ["this request names more than 3 files to be fetched"] * 2
    assert all(isinstance(found[each], LimitError) for each in MANY[3:5])


async def test_bytes_together_are_limited_also_where_they_were_kept() -> None:
    fake = Fake()
    given = loader(fake, total_bytes=7)

    def failed(found: Mapping[Wanted, object]) -> int:
        return sum(isinstance(outcome, LimitError) for outcome in found.values())

    assert failed(await given.load(MANY[:3])) == 1
    assert failed(await given.load(MANY[:2])) == 0
    await given.load(MANY[2:3])
    asked = len(fake.asked)
    assert failed(await given.load(MANY[:3])) == 1
    assert len(fake.asked) == asked


async def test_the_time_is_one_for_all() -> None:
    fake = Fake(hold=anyio.Event())
    kept = Kept(10**6, 300)
    kept.put(MANY[11], FILE)
    found = await loader(fake, kept, seconds=0.02).load(MANY)
    assert found[MANY[11]] == FILE
    assert [str(found[each]) for each in MANY[:OF_ONE]] == ["it did not come within 0.02 seconds"] * OF_ONE
    assert all(isinstance(found[each], BusyError) for each in MANY[OF_ONE:11])
    assert fake.now == 0
    fake.hold = None
    again = await loader(fake, kept).load(MANY)
    assert isinstance(again[MANY[0]], FetchError), "a slow one is not waited for at every turn"
    assert again[MANY[OF_ONE]] == FILE, "nothing was learned of those that had no turn"


async def test_one_that_had_not_all_the_time_fails_for_its_request_alone() -> None:
    hold, gone = anyio.Event(), anyio.Event()

    class Slow(Fake):
        """The first ones take nearly all of the time, what follows has only the rest."""

        async def fetch(self, wanted: Wanted, allowance: Allowance, owner: str = "") -> Fetched:
            self.asked.append(wanted)
            await (gone if wanted in MANY[:OF_ONE] else hold).wait()
            return FILE

    fake, kept = Slow(), Kept(10**6, 300)
    given = loader(fake, kept, seconds=0.2)
    found: dict[Wanted, object] = {}

    async def load() -> None:
        found.update(await given.load(MANY[: OF_ONE + 1]))

    async with anyio.create_task_group() as group:
        group.start_soon(load)
        with anyio.fail_after(10):
            while len(fake.asked) < OF_ONE:
                await anyio.lowlevel.checkpoint()
        gone.set()
    assert str(found[MANY[OF_ONE]]) == "it did not come within 0.2 seconds"
    assert not isinstance(found[MANY[OF_ONE]], BusyError)
    assert kept.get(MANY[OF_ONE]) is None, "who names slow files beside a good one must not spoil that for others"
    hold.set()
    assert await given.load(MANY[OF_ONE : OF_ONE + 1]) == {MANY[OF_ONE]: FILE}


async def test_who_leaves_gives_the_places_back() -> None:
    fake = Fake(hold=anyio.Event())
    given = loader(fake, at_once=2)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(given.load, MANY[:4])
            await anyio.wait_all_tasks_blocked()
            assert fake.now == 2
            scope.cancel()
    assert fake.now == 0
    fake.hold = None
    assert await given.load(MANY) == dict.fromkeys(MANY, FILE)


class Nested(Fake):
    """A fetcher that connects as anyio does: by tasks of its own."""

    async def fetch(self, wanted: Wanted, allowance: Allowance, owner: str = "") -> Fetched:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(anyio.sleep_forever)
                await anyio.lowlevel.checkpoint()
        raise AssertionError


@pytest.mark.parametrize("rounds", range(1, 14))
async def test_a_request_that_is_cancelled_while_it_connects_knows_so(rounds: int) -> None:
    known: list[int] = []

    async def ask() -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await loader(Nested()).load(MANY[:2])
        except asyncio.CancelledError:
            known.append(task.cancelling())
            raise

    task = asyncio.get_running_loop().create_task(ask())
    for _ in range(rounds):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert known == [1]


async def test_one_client_s_slow_files_keep_no_other_client_waiting() -> None:
    slow, fake = anyio.Event(), Fake()
    given = loader(fake, at_once=8)
    fake.hold = slow
    async with anyio.create_task_group() as group:
        for start in (0, 4, 8):
            group.start_soon(given.load, MANY[start : start + 4], "greedy")
        await anyio.wait_all_tasks_blocked()
        assert fake.now == 4
        fake.hold = None
        quick = [Wanted("image", f"https://b.example/{number}") for number in range(4)]
        with anyio.fail_after(5):
            assert await given.load(quick, "modest") == dict.fromkeys(quick, FILE)
        assert fake.now == 4
        slow.set()
    assert len(fake.asked) == 16


async def test_one_that_takes_over_counts_what_the_one_before_has() -> None:
    guard, resolved = Guard(), Names()
    before = Loader(Fetcher(guard, {}, no_tls, resolved), Kept(10**6, 300), Limits(20, 1000, 10.0, 2))
    after = Loader(Fetcher(guard, {}, no_tls), Kept(10**6, 300), Limits(20, 1000, 10.0, 3))
    async with before._turns.turn("a"):
        after.take_over(before)
        assert after._fetcher.resolve is resolved
        assert after._turns is before._turns
        assert after._turns._left == 2
    assert after._turns._left == 3


async def test_what_failed_is_told_once_with_its_host_and_its_cause() -> None:
    def fail(_: Wanted) -> Exception:
        error = FetchError("its server cannot be reached")
        error.__cause__ = OSError("refused")
        return error

    given = loader(Fake(fail))
    with capture_logs() as logs:
        for _ in range(2):
            await given.load([Wanted("image", "https://u:pass@A.example/path?signature=secret")])
    (line,) = logs
    assert line.pop("seconds") >= 0
    assert line == {
        "event": "file not fetched",
        "log_level": "warning",
        "host": "a.example",
        "why": "its server cannot be reached",
        "cause": "OSError: refused",
    }


async def test_so_are_those_that_did_not_come_in_time() -> None:
    given = loader(Fake(hold=anyio.Event()), seconds=0.02, at_once=1)
    with capture_logs() as logs:
        await given.load(MANY[:2])
    assert [line["seconds"] for line in logs] == [0.02, 0.02]
    assert [line["why"].partition(",")[0] for line in logs] == ["it did not come within 0.02 seconds"] * 2


async def test_other_exceptions_are_no_outcome() -> None:
    with pytest.raises(ExceptionGroup):
        await loader(Fake(lambda _: ZeroDivisionError())).load(MANY[:1])
