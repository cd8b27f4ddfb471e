from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pluggy
import pytest

from core import hookimpl
from core.config.faults import TableError
from core.loader.classes import check_class, hook_names, implementations_of, wraps_of
from tests.core import samples


def plugin(**methods: Any) -> type:
    """A class of those methods."""
    return type("Sample", (), methods)


def fault(cls: type, *, in_backend: bool = False) -> str:
    with pytest.raises(TableError) as caught:
        check_class("sample", cls, in_backend=in_backend)
    return "; ".join(filter(None, [caught.value.message, caught.value.hint]))


@hookimpl
def parse(self: object, http: object) -> None: ...


@hookimpl
def parse_with_other(self: object, htp: object) -> None: ...


@hookimpl
def parse_with_default(self: object, http: object = None) -> None: ...


@hookimpl
def parse_with_rest(self: object, **rest: object) -> None: ...


@hookimpl
async def parse_async(self: object) -> None: ...


@hookimpl
async def parse_async_generator(self: object) -> AsyncIterator[None]:
    yield


@hookimpl
def parse_generator(self: object) -> Iterator[None]:
    yield


@hookimpl(wrapper=True)
def parse_wrapper_without_yield(self: object) -> None: ...


@hookimpl(wrapper=True)
def parse_wrapper(self: object) -> Iterator[None]:
    yield


def parse_unmarked(self: object) -> None: ...


@pluggy.HookimplMarker("pytest")
def parse_of_pytest(self: object) -> None: ...


@hookimpl(specname="parse")
def read(self: object) -> None: ...


@hookimpl(optionalhook=True)
def of_tomorrow(self: object, anything: object) -> None: ...


def test_hook_names_are_the_specification() -> None:
    names = hook_names()
    assert names["parse"] == ("http",)
    assert names["call_upstream"] == ("request", "route", "client")
    assert {"route", "serialize", "translate_content", "translate_stop", "list_models", "check"} <= set(names)


@pytest.mark.parametrize(
    "cls",
    [
        samples.Front,
        plugin(parse=parse),
        plugin(parse=parse_wrapper),
        plugin(read=read),
        plugin(parse=parse, of_tomorrow=of_tomorrow),
        plugin(parse=staticmethod(hookimpl(lambda http: None))),
        plugin(parse=classmethod(parse)),
        type("Child", (samples.Front,), {}),
    ],
)
def test_sound_classes_pass(cls: type) -> None:
    check_class("sample", cls, in_backend=False)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (plugin(), "plugin 'sample' implements no hook; mark its methods with core.hookimpl"),
        (
            plugin(translate_contnt=parse),
            (
                "plugin 'sample': translate_contnt is for no hook of hookline: 'translate_contnt'; "
                "did you mean 'translate_content'?"
            ),
        ),
        (
            plugin(parse=parse_with_other),
            "plugin 'sample': parse has an unknown parameter 'htp'; allowed: http",
        ),
        (
            plugin(parse=parse_with_default),
            "plugin 'sample': parse has a default for 'http', so that it is never filled; drop it",
        ),
        (
            plugin(parse=parse_with_rest),
            "plugin 'sample': parse takes 'rest', which is never filled as it stands; allowed: http",
        ),
        (
            plugin(lifespan=parse),
            "plugin 'sample': lifespan has an unknown parameter 'http'; it takes none",
        ),
        (
            plugin(parse=parse_async),
            (
                "plugin 'sample': parse is `async def`, but hooks are plain functions; "
                "return at once an object that does the waiting"
            ),
        ),
        (
            plugin(parse=parse_async_generator),
            (
                "plugin 'sample': parse is `async def`, but hooks are plain functions; "
                "return at once an object that does the waiting"
            ),
        ),
        (
            plugin(parse=parse_generator),
            "plugin 'sample': parse yields, but is no wrapper; mark it hookimpl(wrapper=True), or return a value",
        ),
        (
            plugin(parse=parse_wrapper_without_yield),
            "plugin 'sample': parse is a wrapper without `yield`; yield once: the value is what it wraps",
        ),
        (
            plugin(parse=parse_unmarked, read=read),
            "plugin 'sample': parse is not marked and would never be called; put @core.hookimpl above it",
        ),
        (
            plugin(parse=parse_of_pytest, read=read),
            "plugin 'sample': parse is marked for 'pytest'; mark it with core.hookimpl",
        ),
    ],
)
def test_each_fault_is_a_sentence(cls: type, message: str) -> None:
    assert fault(cls) == message


@pytest.mark.parametrize("hook", ["parse", "route", "serialize", "list_models"])
def test_a_front_hook_in_a_backend_would_never_be_called(hook: str) -> None:
    @hookimpl(specname=hook)
    def mine(self: object) -> None: ...

    assert fault(plugin(mine=mine), in_backend=True) == (
        "plugin 'sample': mine would never be called in a backend; list the plugin under [pipelines.NAME]"
    )
    check_class("sample", plugin(mine=mine), in_backend=False)


def test_implementations_know_name_hook_and_kind() -> None:
    (first,) = implementations_of(plugin(read=read))
    assert (first.method, first.hook, first.wrapper, first.optional) == ("read", "parse", False, False)
    (second,) = implementations_of(samples.Wrapper)
    assert (second.hook, second.wrapper, second.parameters) == ("translate_content", True, ())


def test_the_wrappers_that_a_class_brings() -> None:
    class Brings:
        wraps = ("stop_scan",)

    class Wrong:
        wraps = "stop_scan"

    assert list(wraps_of("x", Brings)) == ["stop_scan"]
    assert not wraps_of("x", object)
    with pytest.raises(TableError, match="plugin 'x': wraps is not a tuple of names"):
        wraps_of("x", Wrong)


def test_a_wrapper_may_be_brought_with_options() -> None:
    class Brings:
        wraps = ("stop_scan", ("think_tags", {"pairs": (("[", "]"),), "opened": True}), ("stop_scan", {"x": {"y": ()}}))

    assert wraps_of("x", Brings) == {
        "stop_scan": {"x": {"y": []}},
        "think_tags": {"pairs": [["[", "]"]], "opened": True},
    }
    assert list(wraps_of("x", Brings)) == ["stop_scan", "think_tags"]


@pytest.mark.parametrize(
    "wraps", ["trim", ["trim"], ("trim", {"a": 1}), (("trim", "a"),), (("trim",),), ((1, {}),), None]
)
def test_wraps_of_another_form_is_refused(wraps: Any) -> None:
    with pytest.raises(TableError, match="wraps is not a tuple of names, or of names with options"):
        wraps_of("x", type("Wrong", (), {"wraps": wraps}))
