from __future__ import annotations

import attrs
import orjson
import pluggy
import pytest

from core import HTTPRequest, Model, Request, RequestError, Stop, Text, Usage
from core.hookspecs import PROJECT, Hooks
from core.pipeline import Pipeline
from plugins.anthropic import Anthropic
from plugins.anthropic.count import CountAnswer
from plugins.anthropic.message import MessageAnswer
from plugins.anthropic.models import ModelsAnswer
from plugins.anthropic.stream import StreamAnswer
from tests.plugins.anthropic.folding import HTTP, REQUEST


def pipeline(plugin: Anthropic) -> Pipeline:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    manager.register(plugin, "anthropic")
    manager.check_pending()
    return Pipeline("p", ("/v1",), manager, {})


def test_parse_answers_its_hook() -> None:
    http = attrs.evolve(HTTP, body=b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}')
    request = pipeline(Anthropic()).parse(http)
    assert request is not None
    assert request.model == "m"


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (REQUEST, MessageAnswer),
        (attrs.evolve(REQUEST, stream=True), StreamAnswer),
        (Request("count_tokens", model="m"), CountAnswer),
        (Request("models"), ModelsAnswer),
    ],
)
def test_each_task_has_its_answer(request_: Request, kind: type[object]) -> None:
    assert type(pipeline(Anthropic()).serialize(HTTP, request_)) is kind


def test_a_refused_request_is_told_so_in_the_envelope() -> None:
    answer = pipeline(Anthropic()).serialize(HTTP, None)
    assert orjson.loads(answer.fail(RequestError("model: Field required")))["error"] == {
        "type": "invalid_request_error",
        "message": "model: Field required",
    }
    assert answer.status == 400


@pytest.mark.parametrize("stream", [False, True])
def test_the_cache_option_reaches_the_answer(stream: bool) -> None:
    answer = Anthropic(cache_usage=True).serialize(HTTP, attrs.evolve(REQUEST, stream=stream))
    answer.feed([Usage(10, 2, 3, 4), Text("x"), Stop("end_turn")])
    assert b'"cache_read_input_tokens":3' in answer.finish()


def test_models_are_listed() -> None:
    answer = Anthropic().serialize(HTTPRequest("GET", "/models"), Request("models"))
    answer.feed([Model("a")])
    assert orjson.loads(answer.finish())["first_id"] == "a"


def test_the_only_option_is_cache_usage() -> None:
    assert [field.name for field in attrs.fields(Anthropic) if field.init] == ["cache_usage"]
