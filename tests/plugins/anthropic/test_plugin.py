from __future__ import annotations

from pathlib import Path

import attrs
import orjson
import pluggy
import pytest

from core import (
    ConfigError,
    HTTPRequest,
    Model,
    Request,
    RequestError,
    Secret,
    State,
    Stop,
    Text,
    Thinking,
    ThinkingBlock,
    ThinkingConfig,
    Usage,
)
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


def test_the_options() -> None:
    assert [field.name for field in attrs.fields(Anthropic) if field.init] == [
        "cache_usage",
        "drop_server_tools",
        "remember",
        "seal_key",
    ]


def thinking_in(plugin: Anthropic, signature: str) -> ThinkingBlock:
    block = {"type": "thinking", "thinking": "", "signature": signature}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": [block]}]}
    request = plugin.parse(attrs.evolve(HTTP, body=orjson.dumps(body)))
    (found,) = request.messages[0].content
    assert isinstance(found, ThinkingBlock)
    return found


def signature_of(plugin: Anthropic) -> str:
    answer = plugin.serialize(HTTP, attrs.evolve(REQUEST, thinking=ThinkingConfig("adaptive", display="omitted")))
    answer.feed([Thinking("a plan"), State({"a": [1]}), Stop("end_turn")])
    return str(orjson.loads(answer.finish())["content"][0]["signature"])


def test_what_one_worker_sealed_another_opens() -> None:
    signature = signature_of(Anthropic(seal_key=Secret("one")))
    found = thinking_in(Anthropic(seal_key=Secret("one")), signature)
    assert (found.thinking, found.state) == ("a plan", State({"a": [1]}))
    assert thinking_in(Anthropic(seal_key=Secret("two")), signature) == ThinkingBlock("", signature)


def test_without_a_configured_key_serving_makes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = Anthropic(), Anthropic()
    assert not list(tmp_path.iterdir())
    assert pipeline(first).manager.hook.lifespan() == []
    second.lifespan()
    assert (tmp_path / "hookline" / "seal.key").exists()
    assert thinking_in(second, signature_of(first)).thinking == "a plan"


def test_a_configured_key_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Anthropic(seal_key=Secret("one")).lifespan()
    assert not list(tmp_path.iterdir())


def test_the_key_is_never_shown_and_never_empty() -> None:
    assert "hush" not in repr(Anthropic(seal_key=Secret("hush")))
    with pytest.raises(ConfigError, match="key 'seal_key': is empty"):
        Anthropic(seal_key=Secret(" "))


def test_server_tools_are_dropped_where_that_is_set() -> None:
    tools = [{"type": "web_search_20260318", "name": "web_search"}]
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "tools": tools}
    http = attrs.evolve(HTTP, body=orjson.dumps(body))
    assert len(Anthropic().parse(http).tools) == 1
    assert Anthropic(drop_server_tools=True).parse(http).tools == ()
