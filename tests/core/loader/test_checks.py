from __future__ import annotations

from collections.abc import Callable

import attrs
import pluggy
import pytest

from core.config import BackendConfig
from core.config.faults import TableError
from core.hookspecs import PROJECT
from core.loader.assemble import join
from core.loader.checks import answerers, chat_path, check_back, check_backend_alone, check_front, key_header, wrappers
from tests.core import samples


def test_a_pipeline_must_answer_every_front_hook() -> None:
    check_front(join({"front": samples.Front()}))
    with pytest.raises(TableError, match="no plugin here answers parse") as caught:
        check_front(join({"both": samples.BothSides()}))
    assert "'anthropic'" in caught.value.hint


def test_a_backend_must_answer_every_back_hook() -> None:
    with pytest.raises(TableError, match="no plugin here answers call_upstream"):
        check_back(join({"wrapper": samples.Wrapper()}), BackendConfig("b", ("wrapper",)))


def test_a_backend_needs_a_url_where_its_call_does() -> None:
    without, with_url = BackendConfig("b", ("x",)), BackendConfig("b", ("x",), url="http://h")
    check_back(join({"engine": samples.Engine()}), without)
    check_back(join({"remote": samples.Remote()}), with_url)
    check_back(join({"remote": samples.Remote()}, {"last": samples.Engine()}), without)
    with pytest.raises(TableError) as caught:
        check_back(join({"engine": samples.Engine()}, {"remote": samples.Remote()}), without)
    assert (caught.value.key, caught.value.message) == ("url", "missing, and plugin 'remote' needs it")


def fault_alone(backend: BackendConfig, **plugins: object) -> tuple[str, str]:
    with pytest.raises(TableError) as caught:
        check_backend_alone(join(plugins), backend)
    return caught.value.key, f"{caught.value.message}; {caught.value.hint}"


def test_a_backend_has_one_engine_and_any_number_of_wrappers() -> None:
    backend = BackendConfig("b", ("x",))
    check_backend_alone(join({"engine": samples.Engine(), "wrapper": samples.Wrapper()}), backend)
    key, said = fault_alone(backend, one=samples.Engine(), two=samples.Remote())
    wanted = "plugins 'one' and 'two' both answer call_upstream, and 'one' would never be called; "
    assert (key, said) == ("plugins", wanted + "keep one of them, and wrappers")
    wrapping = attrs.evolve(backend, wraps=("two",))
    assert fault_alone(wrapping, one=samples.Engine(), two=samples.Remote())[0] == "wraps"


def test_a_url_that_nobody_calls_is_refused() -> None:
    backend = BackendConfig("b", ("x",), url="http://h")
    check_backend_alone(join({"remote": samples.Remote()}), backend)
    check_backend_alone(join({"wrapper": samples.Wrapper()}), backend)
    assert fault_alone(backend, engine=samples.Engine()) == ("url", "plugin 'engine' calls no address; take it away")


def test_the_key_s_header_is_the_caller_s() -> None:
    keyed = type("Keyed", (samples.Engine,), {"key_header": "api-key"})
    assert key_header(join({"engine": samples.Engine()})) == "authorization"
    assert key_header(join({"engine": samples.Engine()}, {"keyed": keyed()})) == "api-key"
    assert key_header(join({"keyed": keyed()}, {"engine": samples.Engine()})) == "authorization"
    assert key_header(join({"wrapper": samples.Wrapper()})) == "authorization"


@pytest.mark.parametrize(("named", "path"), [("/v2/chat", "/v2/chat"), ("v2/chat", "/v2/chat"), ("", "")])
def test_the_path_is_the_caller_s(named: str, path: str) -> None:
    elsewhere = type("Elsewhere", (samples.Engine,), {"path": named})
    assert chat_path(join({"engine": samples.Engine()})) == "/chat/completions"
    assert chat_path(join({"engine": samples.Engine()}, {"elsewhere": elsewhere()})) == path
    assert chat_path(join({"wrapper": samples.Wrapper()})) == "/chat/completions"


def test_an_option_named_path_is_not_the_endpoint_s() -> None:
    @attrs.frozen(eq=False)
    class OfAFile(samples.Engine):
        path: str = "model.gguf"

    assert chat_path(join({"engine": OfAFile()})) == "/chat/completions"


def test_the_last_listed_is_asked_first_and_wraps_outermost() -> None:
    plugins = {"a": samples.Engine(), "b": samples.Engine(), "inner": samples.Wrapper(), "outer": samples.Wrapper()}
    manager = join(plugins)
    names: Callable[[list[pluggy.HookImpl]], list[str]] = lambda found: [each.plugin_name for each in found]  # noqa: E731
    assert names(answerers(manager, "translate_content")) == ["b", "a"]
    assert names(wrappers(manager, "translate_content")) == ["outer", "inner"]
    assert names(answerers(manager, "check")) == []
    assert manager.project_name == PROJECT
