from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.config import BackendConfig, Secret
from core.loader.reuse import BackPart, FrontPart, Made, fingerprint, same


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
