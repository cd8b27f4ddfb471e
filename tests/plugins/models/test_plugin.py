from collections.abc import Awaitable
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from core import Candidate, ConfigError, HTTPRequest, Model, Request
from core.chat import UpstreamClient
from core.config import BackendConfig, Config
from core.config.file import read_config
from core.loader import load
from plugins.models import Entry, Models

MODELS = Models(
    {
        "exact": Entry("one", "upstream", "A Name"),
        "same": Entry("one"),
        "claude-*": Entry("two", "general", "General"),
        "claude-haiku-*": Entry("three", "small"),
        "claude-haiku-4": Entry("one", "exact haiku"),
        "gpt-[45]": Entry("two"),
        "o?": Entry("two"),
    }
)
ALL = Request("models")
Several = tuple[Entry, ...]
CONFIG = Config("p.toml", (), {name: BackendConfig(name, ("p",)) for name in ("one", "two", "three")})


def where(name: str) -> Candidate:
    route = MODELS.route(Request("message", model=name))
    assert route is not None
    (candidate,) = route.candidates
    return candidate


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("exact", Candidate("one", "upstream")),
        ("same", Candidate("one", "same")),
        ("claude-sonnet-5", Candidate("two", "general")),
        ("claude-haiku-4", Candidate("one", "exact haiku")),
        ("claude-haiku-4-5", Candidate("three", "small")),
        ("claude-", Candidate("two", "general")),
        ("gpt-5", Candidate("two", "gpt-5")),
        ("o3", Candidate("two", "o3")),
    ],
)
def test_exact_names_win_then_the_longest_glob(name: str, candidate: Candidate) -> None:
    assert where(name) == candidate


@pytest.mark.parametrize("name", ["Exact", "CLAUDE-x", "exact ", "gpt-3", "o33", ""])
def test_an_unknown_name_is_left_to_others(name: str) -> None:
    assert MODELS.route(Request("message", model=name)) is None


def test_models_are_the_exact_names_in_order() -> None:
    assert MODELS.list_models(ALL, {}) == [
        Model("exact", "A Name"),
        Model("same", "same"),
        Model("claude-haiku-4", "claude-haiku-4"),
    ]


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("exact", [Model("exact", "A Name")]),
        ("claude-sonnet-5", [Model("claude-sonnet-5", "General")]),
        ("gpt-5", [Model("gpt-5", "gpt-5")]),
        ("gpt-3", []),
    ],
)
def test_one_model_is_there_when_it_is_routed(name: str, models: list[Model]) -> None:
    assert MODELS.list_models(Request("models", model=name), {}) == models


def test_check_refuses_a_route_to_a_missing_backend() -> None:
    MODELS.check(CONFIG)
    with pytest.raises(ConfigError) as caught:
        Models({"a b": Entry("oen")}).check(CONFIG)
    assert str(caught.value) == "p.toml: [models] key '\"a b\"': no backend 'oen'; did you mean 'one'?"


def test_check_refuses_a_table_that_serves_nobody() -> None:
    with pytest.raises(ConfigError, match=r"^p\.toml: \[models\]: is empty: there is no model to serve; add a line: "):
        Models({}).check(CONFIG)


@pytest.mark.parametrize("name", ["claude-[", "a[]", "a[!]", "[a]-["])
def test_check_refuses_a_glob_that_is_not_closed(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Models({name: Entry("one")}).check(CONFIG)
    hint = "close it, or write [[] for the character itself"
    assert str(caught.value) == f"p.toml: [models] key '\"{name}\"': '[' is not closed; {hint}"


@pytest.mark.parametrize("name", ["claude-[ab]*", "a[]b]", "a[!]b]", "a[[]b", "a]"])
def test_check_takes_closed_globs(name: str) -> None:
    Models({name: Entry("one")}).check(CONFIG)


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("m", (Entry("one"), Entry("oen")), "'m': no backend 'oen'; did you mean 'one'?"),
        ("m", (), '\'"m"\': has no candidate; name one: [{ backend = "NAME" }]'),
        (
            "m",
            (Entry("one", "up"), Entry("two"), Entry("one", "up")),
            "'\"m\"': backend 'one' is a candidate twice for",
        ),
        ("m", (Entry("one"), Entry("one", "m")), "'\"m\"': backend 'one' is a candidate twice for the same model"),
        ("m*", (Entry("one"), Entry("one")), "'\"m*\"': backend 'one' is a candidate twice for the same model"),
    ],
)
def test_check_refuses_candidates_that_serve_nobody_or_twice(name: str, entries: Several, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Models({name: entries}).check(CONFIG)
    assert str(caught.value).startswith(f"p.toml: [models] key {message}")


@pytest.mark.parametrize("name", ["m", "m*"])
def test_one_backend_may_serve_a_name_with_two_models(name: str) -> None:
    Models({name: (Entry("one"), Entry("one", "other"), Entry("two"))}).check(CONFIG)


def test_all_candidates_are_given_as_they_are_listed() -> None:
    models = Models({"big*": (Entry("one", weight=3), Entry("two", "x", priority=1), Entry("three", context=9))})
    route = models.route(Request("message", model="big-1"))
    assert route is not None
    assert route.candidates == (
        Candidate("one", "big-1", weight=3),
        Candidate("two", "x", priority=1),
        Candidate("three", "big-1", context=9),
    )


FILE = """
[pipelines.main]
paths = ["/v1"]
plugins = ["tests.core.samples:Front", "models"]
[pipelines.main.models]
"b" = { backend = "one", model = "of the pipeline" }
[models]
"a" = { backend = "one", display_name = "A" }
"b" = { backend = "one" }
"c" = [{ backend = "one", weight = 2 }, { backend = "one", model = "x", priority = 1 }]
[backends.one]
plugins = ["tests.core.samples:Engine"]
"""


def test_the_table_is_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pipelines.toml"
    path.write_text(FILE)
    (pipeline,) = load(read_config(path, {}), {}).pipelines
    http = HTTPRequest("POST", "/messages")
    found = [pipeline.route(http, Request("message", model=name)) for name in ("a", "b", "c")]
    assert [route and route.model for route in found] == ["a", "of the pipeline", "c"]
    assert found[2] is not None
    assert found[2].candidates == (Candidate("one", "c", weight=2), Candidate("one", "x", priority=1))
    assert pipeline.known_models(http) == [Model("model-one"), Model("a", "A"), Model("b", "b"), Model("c", "c")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"a" = { bckend = "one" }', "[models] key 'a.bckend': unknown key; did you mean 'backend'?"),
        ('"q.5" = { model = "x" }', "[models] key '\"q.5\".backend': missing"),
        ('"a" = "one"', "[models] key 'a': expected a table or a list of tables, got a string"),
        ('"a" = { backend = "oen" }', "[models] key 'a': no backend 'oen'; did you mean 'one'?"),
        (
            '"a" = [{ backend = "one" }, { bckend = "one" }]',
            "[models] key 'a.1.bckend': unknown key; did you mean 'backend'?",
        ),
        ('"a" = [{ backend = "one" }, "one"]', "[models] key 'a.1': expected a table, got a string"),
        ('"a" = []', '[models] key \'"a"\': has no candidate; name one: [{ backend = "NAME" }]'),
        ('"a" = { backend = "one", weight = 0 }', "[models] key 'a.weight': expected a number above 0, got 0.0"),
        ('"a" = { backend = "one", weight = nan }', "[models] key 'a.weight': expected a number above 0, got nan"),
        ('"a" = { backend = "one", weight = inf }', "[models] key 'a.weight': expected a number below inf, got inf"),
        (
            '"a" = [{ backend = "one", priority = -1 }]',
            "[models] key 'a.0.priority': expected a number from 0 up, got -1",
        ),
    ],
)
def test_faults_are_one_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "pipelines.toml"
    head, tail = FILE.split("[models]")
    path.write_text(f"{head}[models]\n{line}\n[backends.one]{tail.split('[backends.one]')[1]}")
    with pytest.raises(ConfigError) as caught:
        load(read_config(path, {}), {})
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.anyio
async def test_a_glob_may_list_what_its_backend_serves() -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        served = [{"id": "qwen", "max_model_len": 4096}, {"id": "exact"}, {"id": "claude-x"}]
        return httpx.Response(200, json={"data": served}) if request.url.host == "up" else httpx.Response(500)

    def client(name: str) -> UpstreamClient:
        return UpstreamClient(BackendConfig(name, ("p",), url=f"http://{name}"), httpx.MockTransport(reply))

    routes = {
        "exact": Entry("up"),
        "*": Entry("up", list=True, max_output_tokens=100),
        "claude-*": Entry("down", list=True),
    }
    models, clients = Models(routes), {"up": client("up"), "down": client("down")}
    listed = models.list_models(ALL, clients)
    assert isinstance(listed, Awaitable)
    with capture_logs() as logs:
        assert await listed == [Model("exact", "exact"), Model("qwen", "qwen", 0, 4096, 100)]
        for name, model in (("qwen", Model("qwen", "qwen", 0, 4096, 100)), ("new", Model("new", "new", 0, None, 100))):
            asked = models.list_models(Request("models", model=name), clients)
            assert isinstance(asked, Awaitable)
            assert await asked == [model]
    assert [line["backend"] for line in logs] == ["down"]


@pytest.mark.anyio
async def test_any_candidate_of_a_glob_may_list() -> None:
    asked: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        served = {"one": [{"id": "m-a", "max_model_len": 9}, {"id": "x"}], "two": [{"id": "m-a"}, {"id": "m-b"}]}
        return httpx.Response(200, json={"data": served[request.url.host]})

    clients = {
        name: UpstreamClient(BackendConfig(name, ("p",), url=f"http://{name}"), httpx.MockTransport(reply))
        for name in ("one", "two", "three")
    }
    models = Models({"m-*": (Entry("one", list=True), Entry("two", list=True), Entry("three")), "m-b": Entry("one")})
    listed = models.list_models(ALL, clients)
    assert isinstance(listed, Awaitable)
    assert await listed == [Model("m-b", "m-b"), Model("m-a", "m-a", 0, 9)]
    assert sorted(asked) == ["one", "two"]
    one = models.list_models(Request("models", model="m-a"), clients)
    assert isinstance(one, Awaitable)
    assert await one == [Model("m-a", "m-a", 0, 9)]
    assert models.list_models(ALL, {}) == [Model("m-b", "m-b")]


def test_a_models_limits_go_with_the_candidate() -> None:
    entry = Entry("one", "up", max_output_tokens=10, context=20, extra_body={"a": 1})
    route = Models({"m": entry}).route(Request("message", model="m"))
    assert route is not None
    assert route.candidates == (Candidate("one", "up", 10, 20),)
    assert route.candidates[0].extra_body == {"a": 1}
    assert Models({"m": entry}).list_models(ALL, {}) == [Model("m", "m", 0, 20, 10)]
