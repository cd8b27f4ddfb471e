from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import attrs
import pytest

from core import Chunk, HTTPRequest, Model, Request, Route, hookimpl
from core.chat import UpstreamClient
from core.config import BackendConfig, Secret
from core.culprit import notes_of
from core.pipeline import Back, NoAnswerError, Pipeline
from core.raised import PluginError
from tests.core.fakes import Front, Upstream, manager

HTTP = HTTPRequest("GET", "/x")


class Lists:
    def __init__(self, *names: str) -> None:
        self.names = names

    @hookimpl
    def list_models(self) -> list[Model] | None:
        return [Model(name) for name in self.names] or None


def pipeline(*plugins: object) -> Pipeline:
    made = manager()
    for number, plugin in enumerate(plugins):
        made.register(plugin, name=f"p{number}")
    return Pipeline("main", ("/v1",), made, {})


class Asks:
    """Asks the backends when there are any."""

    @hookimpl
    def list_models(self, clients: Mapping[str, UpstreamClient]) -> Any:
        async def asked() -> list[Model]:
            return [Model(name) for name in clients]

        return asked() if clients else [Model("known")]


@pytest.mark.anyio
async def test_models_of_all_plugins_are_joined_in_their_order() -> None:
    made = pipeline(Lists("a", "b"), Lists(), Asks(), Lists("c"))
    assert [model.id for model in made.known_models(HTTP)] == ["a", "b", "known", "c"]
    back = Back("up", manager(), UpstreamClient(BackendConfig("up", ())))
    asking = attrs.evolve(made, backs={"up": back})
    assert [model.id for model in await asking.list_models(HTTP, Request("models"))] == ["a", "b", "up", "c"]


def test_a_back_has_the_places_of_its_backend() -> None:
    client = UpstreamClient(BackendConfig("b", (), max_concurrent=2))
    assert Back("b", manager(), client).state.places.limit == 2


def test_no_plugin_for_a_hook_of_the_front_is_none() -> None:
    empty = pipeline()
    assert empty.parse(HTTP) is None
    assert empty.route(HTTP, Request("message")) is None


def test_serialize_must_be_answered() -> None:
    with pytest.raises(NoAnswerError, match="serialize of pipeline 'main'"):
        pipeline().serialize(HTTP, None)


@pytest.mark.parametrize(("hook", "arguments"), [("parse", (HTTP,)), ("route", (HTTP, Request("message")))])
def test_a_wrong_type_names_the_hook(hook: str, arguments: tuple[Any, ...]) -> None:
    class Wrong:
        @hookimpl
        def parse(self) -> str:
            return "hello"

        @hookimpl
        def route(self) -> int:
            return 5

    with pytest.raises(TypeError, match=f"{hook} of pipeline 'main' answered (str|int)"):
        getattr(pipeline(Wrong()), hook)(*arguments)


@pytest.mark.parametrize("hook", ["call_upstream", "translate_content", "translate_stop"])
def test_the_hooks_of_the_back_must_be_answered(hook: str) -> None:
    back = Back("b", manager(), UpstreamClient(BackendConfig("b", ())))
    with pytest.raises(NoAnswerError, match=f"{hook} of backend 'b'"):
        getattr(back, hook)(Request("message"), Route(()))


def test_a_fault_names_the_deepest_plugin() -> None:
    class Wraps:
        @hookimpl(wrapper=True)
        def parse(self) -> Any:
            return (yield)

    with pytest.raises(ValueError, match="secret") as caught:
        Pipeline("main", (), manager(Front(), Wraps()), {}).parse(HTTPRequest("GET", "/crash"))
    assert caught.value.__notes__ == ["in parse of plugin 'Front', pipeline 'main'"]


class Forgets:
    """Wrappers that forget to return what they wrap, and one that returns another thing."""

    @hookimpl(wrapper=True)
    def translate_content(self) -> Any:
        yield

    @hookimpl(wrapper=True)
    def translate_stop(self) -> Any:
        yield
        return "stop"

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Any:
        yield
        return object()


async def never() -> AsyncIterator[list[Chunk]]:
    yield []


BACK = Back("b", manager(Upstream(never), Forgets()), UpstreamClient(BackendConfig("b", ())))


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        ("translate_content", "answered None; asked: "),
        ("translate_stop", "answered str, which has no feed, no flush; it came from "),
        ("call_upstream", "answered object, which has no __aenter__, no __aexit__; it came from "),
    ],
)
def test_a_wrapper_that_returns_the_wrong_type_is_told_at_once(hook: str, text: str) -> None:
    with pytest.raises((TypeError, NoAnswerError)) as caught:
        getattr(BACK, hook)(Request("message"), Route(()))
    assert str(caught.value) == f"{hook} of backend 'b' {text}plugin 'Forgets' around plugin 'Upstream'"


def test_a_wrong_writer_is_told_at_once() -> None:
    class Writes:
        @hookimpl
        def serialize(self) -> bytes:
            return b"answer"

    with pytest.raises(TypeError, match="answered bytes, which has no feed, no ping, no finish, no fail; it came from"):
        pipeline(Writes()).serialize(HTTP, None)


def test_blame_names_method_plugin_backend_and_chunk_without_secrets() -> None:
    client = UpstreamClient(BackendConfig("b", (), key=Secret("sesame-open-1")))
    back = Back("b", manager(Upstream(never)), client)
    error = ValueError("x")
    back.blame(error, "translate_content", "feed", {"text": "sesame-open-1"})
    back.blame(error, "call_upstream", "call")
    assert error.__notes__ == [
        "in translate_content.feed of plugin 'Upstream', backend 'b', at the chunk {\"text\":\"[hidden]\"}"
    ]


@pytest.mark.anyio
async def test_a_list_of_models_that_fails_while_waiting_is_named() -> None:
    class Waits:
        @hookimpl
        def list_models(self) -> Any:
            async def asked() -> list[Model]:
                raise ValueError("no list")

            return asked()

    with pytest.raises(ValueError, match="no list") as caught:
        await pipeline(Waits()).list_models(HTTP, Request("models"))
    assert caught.value.__notes__ == ["in list_models.answer of plugin 'p0', pipeline 'main'"]


def test_a_hook_that_wants_to_end_the_process_is_named() -> None:
    class Exits:
        @hookimpl
        def parse(self) -> None:
            sys.exit(3)

    with pytest.raises(PluginError, match="SystemExit") as caught:
        pipeline(Exits()).parse(HTTP)
    assert notes_of(caught.value) == ["in parse of plugin 'p0', pipeline 'main'"]
