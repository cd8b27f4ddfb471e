from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any

import pytest

from core import Chunk, HTTPRequest, Request, Route, Text, hookimpl
from core.chat import UpstreamClient
from core.config import BackendConfig
from core.pipeline import Back, Pipeline
from core.trace.spies import spied, without_onlookers
from core.trace.words import Step
from tests.core.fakes import Front, Upstream, Words, manager

ROUTE = Route(())


async def never() -> AsyncIterator[list[Chunk]]:
    yield []


class Doubles:
    """Wraps two hooks."""

    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Any, Any]:
        return Doubled((yield))

    @hookimpl(wrapper=True)
    def route(self) -> Generator[None, Any, Any]:
        return (yield)


class Doubled(Words):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def feed(self, chunk: Chunk) -> Any:
        return [*self.inner.feed(chunk)] * 2


def made(*plugins: object) -> tuple[Back, Pipeline, list[Step]]:
    told: list[Step] = []
    back = Back("b", spied(manager(*plugins), told.append), UpstreamClient(BackendConfig("b", ())))
    pipeline = Pipeline("p", ("/v1",), spied(manager(Front(), Doubles()), told.append), {"b": back})
    return back, pipeline, told


def test_front_hooks_are_told_under_their_plugins() -> None:
    _, pipeline, told = made(Upstream(never))
    http = HTTPRequest("POST", "/say", query=b"m")
    request = pipeline.parse(http)
    assert request is not None
    pipeline.route(http, request)
    assert pipeline.serialize(http, request).finish() == b""
    assert pipeline.parse(HTTPRequest("GET", "/nobody")) is None
    assert [(step.stage, step.who) for step in told] == [
        ("parse", "Front"),
        ("route", "Front"),
        ("route", "Doubles"),
        ("serialize", "Front"),
        ("serialize.finish", "Front"),
        ("parse", "Front"),
    ]
    assert told[-1].what == "None: not mine"


def test_a_hook_that_raises_is_told_and_raises() -> None:
    _, pipeline, told = made(Upstream(never))
    with pytest.raises(ValueError, match="secret detail"):
        pipeline.parse(HTTPRequest("GET", "/crash"))
    assert told == [Step("parse", "Front", "!! raised ValueError: secret detail")]


def test_each_wrapper_is_told_after_what_it_wraps() -> None:
    back, _, told = made(Upstream(never), Doubles())
    content = back.translate_content(Request("message"), ROUTE)
    assert content.feed({"text": "a"}) == [Text("a"), Text("a")]
    assert [(step.stage, step.who, step.what) for step in told] == [
        ("translate_content", "Upstream", "Words"),
        ("translate_content", "Doubles", "Doubled"),
        ("chunk", "", '{"text":"a"}'),
        ("translate_content", "Upstream", "Text(text='a')"),
        ("translate_content", "Doubles", "Text(text='a') -> Text(text='a'), Text(text='a')"),
    ]


def test_call_and_stop_are_told() -> None:
    back, _, told = made(Upstream(never))
    back.call_upstream(Request("message"), ROUTE)
    assert back.translate_stop(Request("message"), ROUTE).flush() == []
    assert [(step.stage, step.who) for step in told] == [
        ("call_upstream", "Upstream"),
        ("translate_stop", "Upstream"),
        ("translate_stop.flush", "Upstream"),
    ]


def test_a_wrong_type_still_meets_the_gateways_check() -> None:
    class Wrong:
        @hookimpl
        def translate_content(self) -> int:
            return 5

    back, _, told = made(Upstream(never), Wrong())
    with pytest.raises(TypeError, match="answered int"):
        back.translate_content(Request("message"), ROUTE)
    assert told == [Step("translate_content", "Wrong or Upstream", "int")]


def test_a_spy_is_under_no_suspicion_and_tells_what_is_given_back_as_it_was() -> None:
    class Nothing:
        @hookimpl(wrapper=True)
        def translate_content(self) -> Generator[None, Any, Any]:
            return (yield)

    class Exits:
        @hookimpl(wrapper=True)
        def translate_content(self) -> Generator[None, Any, Any]:
            yield
            raise ValueError("out")

    back, _, told = made(Upstream(never), Nothing(), Exits())
    with pytest.raises(ValueError) as caught:
        back.translate_content(Request("message"), ROUTE)
    assert caught.value.__notes__ == ["in translate_content of plugin 'Exits', backend 'b'"]
    assert [step.what for step in told] == ["Words", "as given", "!! raised ValueError: out"]


def test_a_trace_needs_no_clients_key() -> None:
    class Guard(Doubles):
        guards = True

    class Looks(Doubles):
        onlooker = True

    kept = without_onlookers(manager(Front(), Guard(), Looks(), Doubles()))
    assert [name for name, _ in kept.list_name_plugin()] == ["Front", "Doubles"]
