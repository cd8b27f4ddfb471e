from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from core import Chunk, Delta, hookimpl
from core.chat import Content
from core.culprit import CHUNK_LIMIT, Suspects, chunk_in_words, named, note, notes_of
from tests.core.fakes import Words, manager


class Fails(Words):
    """Fails by itself."""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        raise ValueError("mine")


class Passes:
    """Wraps a translator and does nothing."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def feed(self, chunk: Chunk) -> Any:
        return self.inner.feed(chunk)


class Breaks(Passes):
    """Wraps a translator and fails after it."""

    def feed(self, chunk: Chunk) -> Any:
        return self.inner.feed(chunk)[99]


class Engine:
    @hookimpl
    def translate_content(self) -> Words:
        return Words()


class Failing:
    @hookimpl
    def translate_content(self) -> Fails:
        return Fails()


def no_reasoning(delta: Any) -> str:
    raise KeyError("reasoning")


class Toolkit:
    @hookimpl
    def translate_content(self) -> Content:
        return Content(no_reasoning)


class Wraps:
    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Any, Passes]:
        return Passes((yield))


class WrapsBadly:
    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Any, Breaks]:
        return Breaks((yield))


def fault_of(function: Callable[[], Any]) -> Exception:
    try:
        function()
    except (ValueError, KeyError, IndexError) as error:
        return error
    raise AssertionError("no fault")


@pytest.mark.parametrize(
    ("plugins", "culprit"),
    [
        ((Failing(), Wraps()), "plugin 'Failing'"),
        ((Engine(), Wraps(), WrapsBadly()), "plugin 'WrapsBadly'"),
        ((Engine(), WrapsBadly(), Wraps()), "plugin 'WrapsBadly'"),
        ((Toolkit(), Wraps()), "plugin 'Toolkit'"),
    ],
)
def test_the_plugin_that_made_the_broken_object_is_found(plugins: tuple[object, ...], culprit: str) -> None:
    made = manager(*plugins)
    translator = made.hook.translate_content(request=None, route=None)
    chunk = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
    error = fault_of(lambda: translator.feed(chunk))
    assert Suspects(made, "translate_content").of(error) == culprit


def test_a_fault_of_nobodys_code_is_told_as_such() -> None:
    suspects = Suspects(manager(Engine()), "translate_content")
    error = fault_of(lambda: int("x"))
    error.__traceback__ = None
    assert suspects.of(error) == "an unknown plugin"
    assert suspects.of(error, suspects.chain()) == "plugin 'Engine'"


def test_the_chain_is_told_from_outside_in() -> None:
    suspects = Suspects(manager(Engine(), Failing(), Wraps(), WrapsBadly()), "translate_content")
    assert suspects.chain() == ("plugin 'WrapsBadly' around plugin 'Wraps' around plugin 'Failing' or plugin 'Engine'")
    assert Suspects(manager(Wraps()), "translate_content").chain() == "plugin 'Wraps'"
    assert Suspects(manager(), "translate_content").chain() == "no plugin"


def test_the_first_note_is_the_nearest_and_stays_alone() -> None:
    error = ValueError("x")
    assert not named(error)
    note(error, "feed")
    note(error, "call")
    assert notes_of(error) == ["in feed"]
    outer = RuntimeError("y")
    outer.__cause__ = error
    assert notes_of(outer) == ["in feed"]


def test_a_chunk_is_cut_and_its_secrets_are_hidden() -> None:
    words = chunk_in_words({"key": "sesame-123", "rest": "x" * 1000}, ["sesame-123"])
    assert words.startswith('{"key":"[hidden]","rest":"xxx')
    assert (len(words), words[-1]) == (CHUNK_LIMIT + 1, "…")
    assert chunk_in_words({"odd": {1}}) == "{'odd': {1}}"


class Exhausts:
    """A wrapper that lets a StopIteration out, which Python turns into another exception."""

    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Any, Any]:
        yield
        return next(iter(()))


class Spy:
    innocent = True

    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Any, Any]:
        return (yield)


def test_the_cause_of_an_exception_leads_to_the_plugin() -> None:
    made = manager(Engine(), Exhausts())
    with pytest.raises(RuntimeError) as caught:
        made.hook.translate_content(request=None, route=None)
    assert Suspects(made, "translate_content").of(caught.value) == "plugin 'Exhausts'"


def test_an_innocent_plugin_is_no_suspect() -> None:
    made = manager(Engine(), Exhausts(), Spy())
    suspects = Suspects(made, "translate_content")
    assert suspects.chain() == "plugin 'Exhausts' around plugin 'Engine'"
    with pytest.raises(RuntimeError) as caught:
        made.hook.translate_content(request=None, route=None)
    assert suspects.of(caught.value) == "plugin 'Exhausts'"


def test_causes_that_lead_back_are_told_once() -> None:
    one, other = ValueError("x"), ValueError("y")
    one.__cause__, other.__cause__ = other, one
    note(one, "feed")
    assert notes_of(other) == ["in feed"]


def test_a_chunk_without_a_repr_is_told_all_the_same() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    assert chunk_in_words({"odd": Odd()}) == "a dict without a repr"
