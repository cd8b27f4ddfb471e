"""One gateway for each kind of worker. The table of faults is played on it at once, and so are the tests that wait.

A test here that is a coroutine takes `stage` or `pair`, and its parameters; with the first of them all begin.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.faults.outcomes import Outcome, play
from tests.faults.pair import FAILING, Pair
from tests.faults.stage import Stage
from tests.faults.table import SCRIPTS, TABLE


@pytest.fixture(scope="session", params=["uvloop", "asyncio"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(SCRIPTS)
    with made.open(tmp_path_factory.mktemp(request.param), request.param):
        yield made
        made.check()


@pytest.fixture(scope="session")
def outcomes(stage: Stage) -> dict[tuple[str, bool], Outcome]:
    return stage.run(play(stage, TABLE), 120)


@pytest.fixture(scope="session", params=["uvloop", "asyncio"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A gateway whose models have several backends."""
    made = Pair()
    with made.open(tmp_path_factory.mktemp(f"pair-{request.param}"), request.param):
        yield made
        made.check()


@pytest.fixture(scope="session")
def taken_over(pair: Pair) -> dict[tuple[str, bool], Outcome]:
    """What becomes of the table of faults where another backend may take over."""
    return pair.run(play(pair, FAILING, together=16), 120)


@pytest.fixture
def alone(stage: Stage) -> None:
    """Nothing else goes on."""
    for future in stage.begun.values():
        future.exception(120)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    stage = pyfuncitem.funcargs[_stage_of(pyfuncitem)]
    assert isinstance(stage, Stage)
    if not stage.begun:
        for item in pyfuncitem.session.items:
            if _is_here(item, pyfuncitem):
                stage.begun[item.nodeid] = _begin(item, stage)
    stage.begun[pyfuncitem.nodeid].result(120)
    return True


def _is_here(item: pytest.Item, other: pytest.Function) -> bool:
    """Whether an item is such a test, for the same kind of worker."""
    if not isinstance(item, pytest.Function) or not inspect.iscoroutinefunction(item.obj):
        return False
    name = _stage_of(other)
    here = item.path.parent == other.path.parent and name == _stage_of(item)
    return here and item.callspec.params[name] == other.callspec.params[name]


def _stage_of(item: pytest.Function) -> str:
    return "pair" if "pair" in item.fixturenames else "stage"


def _begin(item: pytest.Item, stage: Stage) -> Future[None]:
    assert isinstance(item, pytest.Function)
    named = {name: value for name, value in item.callspec.params.items() if name != _stage_of(item)}
    return stage.begin(item.obj(stage, **named))
