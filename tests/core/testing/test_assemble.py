from __future__ import annotations

from typing import Any

import httpx
import pytest

from core import ConfigError
from core.testing import UpstreamAnswer, replay
from core.testing.assemble import Assembly
from tests.core.testing.plugins_for_tests import Plain, Shouts

PATH = "tests.core.testing.plugins_for_tests:Plain"
WHOLE = UpstreamAnswer(text="ok").json()


@pytest.mark.parametrize("plugin", ["openai", PATH, Plain, Plain()])
def test_plugins_are_given_as_names_classes_or_instances(plugin: Any) -> None:
    reply = replay([plugin], [WHOLE])
    assert reply.message["content"] == [{"type": "text", "text": "ok"}]


@pytest.mark.parametrize(
    ("plugins", "options"),
    [
        ((Plain, Shouts), {"Plain": {"suffix": "-"}, "Shouts": {"mark": "!"}}),
        ((PATH, Shouts), {PATH: {"suffix": "-"}, "Shouts": {"mark": "!"}}),
        ((Plain("-"), Shouts("!")), None),
    ],
)
def test_options_and_the_order_of_wrappers(plugins: Any, options: Any) -> None:
    reply = replay(plugins, [WHOLE], options=options)
    assert reply.message["content"] == [{"type": "text", "text": "OK-!"}]


def test_a_class_local_to_a_test() -> None:
    class Local(Plain):
        pass

    assert replay([Local], [WHOLE]).message["content"][0]["text"] == "ok"


def test_options_of_the_front() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    body = UpstreamAnswer(usage=usage).json()
    reply = replay(["openai"], [body], options={"anthropic": {"cache_usage": True}})
    assert reply.message["usage"]["cache_read_input_tokens"] == 4


@pytest.mark.parametrize("plugins", [["no-such-plugin"], [Shouts("!")], [object], [Plain, "openai"]])
def test_what_hookline_would_refuse_is_refused(plugins: Any) -> None:
    with pytest.raises(ConfigError):
        Assembly(plugins)


@pytest.mark.parametrize(
    ("plugins", "options", "line"),
    [
        (["vlm"], {}, "key 'plugins': no plugin 'vlm'; did you mean 'vllm'? or write module:Class"),
        ([Plain], {"Plane": {"suffix": "-"}}, "key 'Plane': no plugin 'Plane' is listed here; did you mean 'Plain'?"),
    ],
)
def test_a_misspelt_name_ends_in_its_one_line(plugins: Any, options: Any, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        replay(plugins, [WHOLE], options=options)
    assert str(caught.value) == f"replay: [backends.upstream] {line}"
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)


def test_an_engine_without_an_address_is_replayed_too() -> None:
    assert replay(["demo"], [], request={"messages": [{"role": "user", "content": "Hi"}]}).status == 200


def test_the_backends_table_is_given_as_in_the_file() -> None:
    assembly = Assembly(["vllm"], backend={"key": "parrot-key", "extra_body": {"seed": 7}, "max_stops": 2})
    backend = assembly.back(httpx.MockTransport(lambda _: httpx.Response(500))).client.backend
    assert backend.key is not None
    assert backend.key.reveal() == "parrot-key"
    assert (backend.extra_body, backend.dialect, backend.stream) == ({"seed": 7}, {"max_stops": 2}, "auto")


def test_the_tables_stream_holds_unless_another_is_asked_for() -> None:
    assembly = Assembly(["vllm"], backend={"stream": "never"})
    network = httpx.MockTransport(lambda _: httpx.Response(500))
    assert assembly.back(network).client.backend.stream == "never"
    assert assembly.back(network, "always").client.backend.stream == "always"


def test_a_table_that_hookline_would_refuse_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_stopps"):
        Assembly(["vllm"], backend={"max_stopps": 2})
