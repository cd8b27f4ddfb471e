from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from core.config import BackendConfig, Secret
from core.loader.reuse import BackPart, FrontPart, Made, fingerprint, hand_over, same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": [0]}, {"a": [False]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (BackendConfig("b", ("x",), key=Secret("one")), BackendConfig("b", ("x",), key=Secret("two"))),
        (BackendConfig("b", ("x",), extra_body={"n": 1}), BackendConfig("b", ("x",), extra_body={"n": True})),
    ],
)
def test_what_would_be_sent_differently_is_not_the_same(one: object, other: object) -> None:
    assert not same(one, other)
    assert same(one, one)


def test_equal_tables_are_the_same() -> None:
    config: dict[str, Any] = {"key": Secret("k"), "extra_body": {"a": [1]}}
    assert same(BackendConfig("b", ("x",), **config), BackendConfig("b", ("x",), **config))


def test_a_front_part_is_its_key_its_class_and_its_options() -> None:
    part = FrontPart(str, {"a": 1}, "plugin")
    made = Made({("p", "n"): part})
    assert made.front(("p", "n"), str, {"a": 1}) is part
    assert made.front(("p", "n"), bytes, {"a": 1}) is None
    assert made.front(("p", "n"), str, {"a": 2}) is None
    assert made.front(("p", "other"), str, {"a": 1}) is None


def test_a_back_part_is_its_table_its_classes_and_its_ca() -> None:
    config = BackendConfig("b", ("x",), url="http://h")
    part = BackPart(config, (str,), b"ca", {})
    made = Made(backs={"b": part})
    assert made.back(BackendConfig("b", ("x",), url="http://h"), (str,), b"ca") is part
    assert made.back(BackendConfig("b", ("x",), url="http://other"), (str,), b"ca") is None
    assert made.back(BackendConfig("c", ("x",), url="http://h"), (str,), b"ca") is None
    assert made.back(config, (bytes,), b"ca") is None
    assert made.back(config, (str,), b"another") is None


def test_a_back_part_has_the_state_of_its_table_and_keeps_it() -> None:
    part = BackPart(BackendConfig("b", ("x",), max_concurrent=3), (str,), b"", {})
    assert part.state.places.limit == 3
    made = Made(backs={"b": part})
    again = made.back(BackendConfig("b", ("x",), max_concurrent=3), (str,), b"")
    assert again is not None
    assert again.state is part.state
    assert made.back(BackendConfig("b", ("x",), max_concurrent=4), (str,), b"") is None


def backend(url: str = "http://h/v1", limit: int = 3, name: str = "b", **plugins: object) -> Made:
    config = BackendConfig(name, ("x",), url=url, max_concurrent=limit)
    return Made(backs={name: BackPart(config, (), b"", plugins)})


@pytest.mark.parametrize(
    ("after", "shared"),
    [
        (backend(limit=2), True),
        (backend("http://h/v1/", limit=2), True),
        (backend("http://other/v1"), False),
        (backend(name="c"), False),
    ],
)
def test_a_changed_backend_at_the_same_url_counts_what_still_runs(after: Made, shared: bool) -> None:
    before = backend()
    ((old,), (new,)) = before.backs.values(), after.backs.values()
    hand_over([before], after)
    assert (old.state.places is new.state.places) is shared
    assert new.state.places.limit == new.config.max_concurrent


def test_so_does_one_that_was_away_for_a_while_and_one_without_a_url_does_not() -> None:
    before, between, after = backend(), backend("http://other"), backend(limit=5)
    hand_over([before, between], after)
    assert after.backs["b"].state.places is before.backs["b"].state.places
    embedded, other = backend(""), backend("")
    hand_over([embedded], other)
    assert embedded.backs["b"].state.places is not other.backs["b"].state.places


class Heir:
    """Remembers whose place it took."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.before: list[object] = []
        self._fault = fault

    def take_over(self, before: object) -> None:
        if self._fault is not None:
            raise self._fault
        self.before.append(before)


class OtherHeir(Heir):
    """Another class."""


def front(plugin: object) -> Made:
    return Made({("p", "heir"): FrontPart(type(plugin), {}, plugin)})


def test_a_plugin_takes_over_from_the_last_of_its_class_in_its_place() -> None:
    first, second, new = Heir(), Heir(), Heir()
    hand_over([front(first), front(second)], front(new))
    assert new.before == [second]
    hand_over([front(new)], front(new))
    assert new.before == [second]
    other = OtherHeir()
    hand_over([front(new)], front(other))
    assert other.before == []
    one, two = Heir(), Heir()
    hand_over([backend(heir=one)], backend(heir=two, other=other))
    assert (two.before, other.before) == ([one], [])
    hand_over([front(object())], front(object()))


def test_a_fault_of_its_own_is_told_and_keeps_the_others_from_nothing() -> None:
    one, two = Heir(), Heir()
    after = front(Heir(KeyError("oh")))
    after.backs.update(backend(heir=two).backs)
    before = front(Heir())
    before.backs.update(backend(heir=one).backs)
    with capture_logs() as logs:
        hand_over([before], after)
    (line,) = logs
    assert (line["event"], line["notes"]) == ("fault", ["in take_over of plugin 'heir'"])
    assert two.before == [one]


def test_a_repr_tells_no_options() -> None:
    assert "hunter2" not in repr(Made({("p", "n"): FrontPart(str, {"key": "hunter2"}, "plugin")}))


def test_a_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    ca = tmp_path / "ca"
    ca.write_text("one")
    before = fingerprint(str(ca))
    assert fingerprint(str(ca)) == before
    ca.write_text("two")
    assert fingerprint(str(ca)) != before
    assert fingerprint("") == b""
