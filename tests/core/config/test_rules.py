import shutil
from pathlib import Path
from typing import Any

import attrs
import certifi
import pytest

from core.chat.dialect import Dialect
from core.config import BackendConfig, PipelineConfig, Secret
from core.config.faults import TableError
from core.config.rules import check_backend, check_dialect, check_pipeline, check_pipelines

PIPELINE = PipelineConfig("main", ("/v1",), ("anthropic", "models"))
BACKEND = BackendConfig("one", ("vllm",))
FOLDER = Path()


def test_paths_are_normalised() -> None:
    paths = ("/v1/", "/llm/v1", "/", "/a~b%20c")
    assert check_pipeline(attrs.evolve(PIPELINE, paths=paths)).paths == ("/v1", "/llm/v1", "", "/a~b%20c")


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"paths": ()}, "paths", "is empty"),
        ({"plugins": ()}, "plugins", "is empty"),
        ({"paths": ("v1",)}, "paths", "not a path: 'v1'"),
        ({"paths": ("",)}, "paths", "not a path: ''"),
        ({"paths": ("/v1?x=1",)}, "paths", "not a path: '/v1?x=1'"),
        ({"paths": ("/v1", "/v1/messages")}, "paths", "'/v1/messages' is the address of an endpoint"),
        ({"paths": ("/models/",)}, "paths", "'/models/' is the address of an endpoint"),
        ({"paths": ("/a//b",)}, "paths", "not a path: '/a//b'"),
        ({"plugins": ("a", "b", "a")}, "plugins", "'a' is listed twice"),
        ({"options": {"antropic": {}}}, "antropic", "no plugin 'antropic' is listed here"),
    ],
)
def test_a_pipeline_that_breaks_a_rule(changes: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        check_pipeline(attrs.evolve(PIPELINE, **changes))
    assert (caught.value.key, caught.value.message) == (key, message)
    assert caught.value.hint or "twice" in message


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"plugins": ()}, "plugins", "is empty"),
        ({"plugins": ("a", "a")}, "plugins", "'a' is listed twice"),
        ({"wraps": ("vllm",)}, "wraps", "'vllm' is listed twice"),
        ({"connect_timeout": 0.0}, "connect_timeout", "expected seconds above 0, got 0"),
        ({"read_timeout": -1.0}, "read_timeout", "expected seconds above 0, got -1"),
        ({"total_timeout": float("nan")}, "total_timeout", "expected seconds above 0, got nan"),
        ({"total_timeout": float("inf")}, "total_timeout", "expected seconds above 0, got inf"),
        ({"queue_timeout": 0.0}, "queue_timeout", "expected seconds above 0, got 0"),
        ({"max_concurrent": -1}, "max_concurrent", "expected a number from 0 up, got -1"),
        ({"max_queue": -1}, "max_queue", "expected a number from 0 up, got -1"),
        ({"url": "http://me:pw@h"}, "url", "holds a user name, which logs would show"),
        ({"proxy": Secret("pw")}, "proxy", "does not begin with http:// or https://"),
        ({"ca": "none.pem"}, "ca", "no such file: none.pem"),
        ({"key": Secret("")}, "key", "is empty"),
        ({"headers": {"Content-Length": Secret("5")}}, "headers.Content-Length", "is set for each request"),
        (
            {"headers": {"x": Secret("é")}},
            "headers.x",
            "holds a character that no header can carry (a line break or a letter beyond ASCII)",
        ),
        (
            {"key": Secret("a\n")},
            "key",
            "holds a character that no header can carry (a line break or a letter beyond ASCII)",
        ),
        ({"headers": {"x y": Secret("a")}}, 'headers."x y"', "not a header's name"),
        (
            {"headers": {"x": Secret("a\r\nb")}},
            "headers.x",
            "holds a character that no header can carry (a line break or a letter beyond ASCII)",
        ),
    ],
)
def test_a_backend_that_breaks_a_rule(changes: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        check_backend(attrs.evolve(BACKEND, **changes), FOLDER)
    assert (caught.value.key, caught.value.message) == (key, message)


@pytest.mark.parametrize("url", ["http://h", "https://h:8/v1/", "http://[::1]:8000/v1?api-version=1", ""])
def test_urls_in_any_form_are_taken_as_written(url: str) -> None:
    backend = attrs.evolve(BACKEND, url=url, proxy=Secret("http://me:pw@proxy:3128"))
    assert check_backend(backend, FOLDER) == backend


def test_a_limit_may_be_none_and_a_queue_empty() -> None:
    backend = attrs.evolve(BACKEND, max_concurrent=0, max_queue=0)
    assert check_backend(backend, FOLDER) == backend


def test_ca_is_found_beside_the_file(tmp_path: Path) -> None:
    shutil.copy(certifi.where(), tmp_path / "ca.pem")
    assert check_backend(attrs.evolve(BACKEND, ca="ca.pem"), tmp_path).ca == str(tmp_path / "ca.pem")


@pytest.mark.parametrize("content", ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_ca_without_certificates_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "ca.pem").write_text(content)
    with pytest.raises(TableError, match=r"ca\.pem holds no certificate") as caught:
        check_backend(attrs.evolve(BACKEND, ca="ca.pem"), tmp_path)
    assert caught.value.key == "ca"


@pytest.mark.parametrize(
    ("dialect", "key", "message"),
    [
        ({"max_stops": -1}, "max_stops", "expected a number from 0 up, got -1"),
        ({"tool_name_limit": 0}, "tool_name_limit", "expected a number from 11 up, got 0"),
        ({"max_tokens_field": ""}, "max_tokens_field", "is empty"),
        ({"tool_choice": ("auto", "al")}, "tool_choice", "expected some of 'auto', 'any', 'tool', 'none', got 'al'"),
    ],
)
def test_a_dialect_out_of_range(dialect: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        check_dialect(dialect)
    assert (caught.value.key, caught.value.message) == (key, message)


def test_the_dialect_s_own_values_are_in_range() -> None:
    check_dialect({})
    check_dialect(attrs.asdict(Dialect()))
    check_dialect({"max_stops": None, "tool_choice": ()})


def told(pipelines: list[PipelineConfig], backends: list[BackendConfig]) -> tuple[str, str, str]:
    with pytest.raises(TableError) as caught:
        check_pipelines(pipelines, backends)
    return caught.value.table, caught.value.key, caught.value.message


def test_a_path_is_mounted_once() -> None:
    other = attrs.evolve(PIPELINE, name="other")
    assert told([PIPELINE, other], []) == ("pipelines.other", "paths", "'/v1' is listed in [pipelines.main], too")
    twice = attrs.evolve(PIPELINE, paths=("", ""))
    assert told([twice], []) == ("pipelines.main", "paths", "'/' is listed twice")


def test_a_plugin_is_in_a_pipeline_or_in_a_backend() -> None:
    check_pipelines([PIPELINE], [BACKEND])
    message = "plugin 'models' is listed in [pipelines.main], too"
    both = attrs.evolve(BACKEND, wraps=("models",))
    assert told([PIPELINE], [both]) == ("backends.one", "wraps", message)
    listed = attrs.evolve(BACKEND, plugins=("vllm", "models"))
    assert told([PIPELINE], [listed]) == ("backends.one", "plugins", message)
