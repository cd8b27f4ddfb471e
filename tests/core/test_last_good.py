from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from core.last_good import WHERE, LastGood

ONE, OTHER = b"1" * 32, b"2" * 32


@pytest.fixture
def last() -> Iterator[LastGood]:
    made = LastGood.make()
    yield made
    os.close(made.number)


@pytest.mark.parametrize("memory", [True, False])
def test_what_is_kept_is_there_and_a_shorter_one_takes_its_place(memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    last = LastGood.make()
    assert last.text == b""
    for text in (b"long" * 50_000, b"short", b"short"):
        last.keep(text)
        assert last.text == text
    assert not os.get_inheritable(last.number)
    os.close(last.number)


def test_a_content_is_doubted_when_a_second_one_begins_with_it(last: LastGood) -> None:
    last.keep(b"text")
    assert not last.doubt(ONE)
    assert last.doubt(ONE)
    assert not last.doubt(ONE)  # tried once more
    assert not last.doubt(OTHER)
    last.trust()
    assert not last.doubt(OTHER)
    last.keep(b"text")
    assert not last.doubt(OTHER)
    assert last.text == b"text"


def test_a_half_written_one_is_none(last: LastGood) -> None:
    last.keep(b"text")
    os.ftruncate(last.number, os.fstat(last.number).st_size - 1)
    assert last.text == b""


def test_it_goes_through_the_environment_once(last: LastGood) -> None:
    environ: dict[str, str] = {}
    assert LastGood.inherited(environ) is None
    last.bequeath(environ)
    last.keep(b"text")
    other = LastGood.inherited(environ)
    assert other is not None
    assert other.text == b"text"
    assert environ == {}
    assert LastGood.inherited({WHERE: "none"}) is None


def work(last: LastGood, pipe: Connection) -> None:
    pipe.send((last.text, os.get_inheritable(last.number)))
    last.keep(b"from there")


def test_a_process_that_is_spawned_has_the_same(last: LastGood) -> None:
    last.keep(b"from here")
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=work, args=(last, theirs))
    process.start()
    theirs.close()
    with ours:
        assert ours.recv() == (b"from here", False)
    process.join(20)
    assert last.text == b"from there"
