from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import attrs
import httpx
import pytest

from core import ConfigError, Record, Request, RequestError, Route
from core.config import Config
from core.config.file import read_config
from core.gateway import Gateway
from core.generations import Generations
from core.loader import load
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply
from plugins.keys import Keys
from plugins.keys.plugin import Admission
from plugins.keys.token import Token
from tests.core.test_generations import until
from tests.plugins.keys.samples import asking, http_with, made, written

pytestmark = pytest.mark.anyio


def config_of(folder: Path, url: str = "http://127.0.0.1:9/v1", table: str = "", models: str = "") -> Config:
    path = folder / "pipelines.toml"
    path.write_text(f"""
[pipelines.messages]
paths = ["/v1"]
plugins = ["anthropic", "models", "keys"]
[models]
"small" = {{ backend = "b" }}
"big-*" = {{ backend = "b" }}
{models}
[keys]
{table}
[backends.b]
plugins = ["openai"]
url = "{url}"
""")
    return read_config(path, {})


def plugin_of(gateway: Gateway) -> Keys:
    found = gateway.loaded.pipelines[0].manager.get_plugin("keys")
    assert isinstance(found, Keys)
    return found


async def ask(gateway: Gateway, token: Token, **body: Any) -> httpx.Response:
    """A request through the gateway, in process."""
    sent = {"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **body}
    return await send(gateway, "POST", "/v1/messages", token, httpx.Request("POST", "http://x", json=sent).content)


async def send(gateway: Gateway, method: str, path: str, token: Token | None, body: bytes = b"") -> httpx.Response:
    http = attrs.evolve(asking(token) if token else http_with(), method=method, path=path, mount="", body=body)
    sink = Collected()
    await gateway.handle(http, sink)
    return httpx.Response(sink.status, headers=sink.headers, content=sink.body)


class Collected:
    gone = False
    status = 0
    body = b""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []

    async def start(self, status: int, headers: Any) -> None:
        self.status, self.headers = status, list(headers)

    async def send(self, data: bytes, more: bool) -> None:
        self.body += data


async def test_models_that_a_key_may_not_use_are_not_there(tmp_path: Path) -> None:
    key, token = made(models=("big-*",))
    free, other = made("free")
    written(tmp_path / "keys.json", key, free)
    async with MockUpstream(UpstreamAnswer(text="Hello.")) as upstream:
        gateway = Gateway(load(config_of(tmp_path, upstream.url)))
        async with gateway.running():
            assert (await ask(gateway, token, model="big-1")).status_code == 200
            refused, unknown = await ask(gateway, token), await ask(gateway, other, model="nobody")
            assert refused.status_code == unknown.status_code == 404
            assert refused.json()["error"] == {"type": "not_found_error", "message": "model: small"}
            listed = [(await send(gateway, "GET", "/v1/models", each)).json()["data"] for each in (token, other)]
            assert [[model["id"] for model in models] for models in listed] == [[], ["small"]]
            one = [(await send(gateway, "GET", "/v1/models/small", each)).status_code for each in (token, other)]
            assert one == [404, 200]
            glob = [await send(gateway, "GET", "/v1/models/big-7", each) for each in (token, other)]
            assert [answer.status_code for answer in glob] == [200, 200]
            assert len(upstream.exchanges) == 1
            await aclose(gateway)


async def test_models_that_a_backend_lists_are_sorted_out_too(tmp_path: Path) -> None:
    key, token = made(models=("q-1", "small"))
    written(tmp_path / "keys.json", key)
    listed = UpstreamReply.json({"data": [{"id": name} for name in ("q-1", "q-2", "small")]})
    async with MockUpstream(listed) as upstream:
        config = config_of(tmp_path, upstream.url, models='"q-*" = { backend = "b", list = true }')
        gateway = Gateway(load(config))
        async with gateway.running():
            models = (await send(gateway, "GET", "/v1/models", token)).json()["data"]
            assert [model["id"] for model in models] == ["small", "q-1"]
            assert (await send(gateway, "GET", "/v1/models/q-2", token)).status_code == 404


async def aclose(gateway: Gateway) -> None:
    for client in gateway.loaded.clients:
        await client.aclose()


async def test_tokens_are_those_of_the_engine_and_counts_take_none(tmp_path: Path) -> None:
    key, token = made(budget_tokens=10**6)
    written(tmp_path / "keys.json", key)
    async with MockUpstream(UpstreamAnswer(text="Hello.")) as upstream:
        gateway = Gateway(load(config_of(tmp_path, upstream.url)))
        async with gateway.running():
            used = (await ask(gateway, token)).json()["usage"]
            body = b'{"model":"small","messages":[{"role":"user","content":"Hi"}]}'
            assert (await send(gateway, "POST", "/v1/messages/count_tokens", token, body)).status_code == 200
            keeper = plugin_of(gateway)._serves.keeper
            assert keeper is not None
            assert keeper.gate.ledger.spent(key.id, keeper.gate.budgets()[key.id]) == sum(used.values()) > 0


async def test_concurrency_comes_back_whatever_happens(tmp_path: Path) -> None:
    key, token = made(max_concurrent=1)
    written(tmp_path / "keys.json", key)
    replies: list[Any] = [
        UpstreamReply.json({"error": "busy"}, status=500),
        UpstreamReply(b"{broken"),
        UpstreamAnswer(text="Hello."),
    ]
    async with MockUpstream(*replies) as upstream:
        gateway = Gateway(load(config_of(tmp_path, upstream.url)))
        async with gateway.running():
            statuses = [(await ask(gateway, token, **body)).status_code for body in ({}, {"max_tokens": "x"}, {}, {})]
            assert 429 not in statuses
            assert statuses[1] == 400
            assert (await send(gateway, "POST", "/v1/messages", token, b"\xff{")).status_code == 400
            assert (await ask(gateway, token)).status_code == 200
            serves = plugin_of(gateway)._serves
            assert serves.inside == {}
            assert serves.keeper is not None
            assert not serves.keeper.gate.running


async def test_what_runs_counts_also_after_a_changed_table(tmp_path: Path) -> None:
    key, token = made()
    written(tmp_path / "keys.json", key)
    hold = anyio.Event()
    held = UpstreamReply.answer(UpstreamAnswer(text="Hello."), stream=False, hold=hold)
    async with MockUpstream(held, UpstreamAnswer(text="Hello.")) as upstream:
        before = Gateway(load(config_of(tmp_path, upstream.url, "max_concurrent = 1")))
        generations = Generations(before)
        async with generations.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(ask, before, token)
            await upstream.exchange()
            config = config_of(tmp_path, upstream.url, "max_concurrent = 1\nbudget_tokens = 1000")
            after = Gateway(load(config, previous=before.loaded))
            await generations.replace(after)
            assert plugin_of(after) is not plugin_of(before)
            assert (await ask(after, token)).status_code == 429
            hold.set()
            await until(lambda: not plugin_of(before)._serves.inside)
            assert (await ask(after, token)).status_code == 200
            await aclose(after)


def test_one_that_was_never_checked_has_nothing_to_take_over(tmp_path: Path) -> None:
    written(tmp_path / "keys.json")
    plugin = loaded(tmp_path)
    plugin.take_over(Keys())
    Keys().take_over(plugin)
    assert plugin._serves.keeper is not None
    assert not plugin._serves.keeper.gate.running


async def test_a_cancelled_request_gives_its_place_back_and_pays(tmp_path: Path) -> None:
    key, token = made(max_concurrent=1, budget_tokens=10**6)
    written(tmp_path / "keys.json", key)
    plugin = loaded(tmp_path)
    keeper = plugin._serves.keeper
    assert keeper is not None
    http = asking(token)
    record = Record(http)
    admission = plugin.exchange(http, record)
    assert admission is not None
    with anyio.CancelScope() as scope:
        async with admission:
            record.request, record.accepted = Request("message", model="small"), 1.0
            admission.passed.add_tokens(40)
            scope.cancel()
            await anyio.sleep_forever()
    assert keeper.gate.ledger.spent(key.id, keeper.gate.budgets()[key.id]) == 40
    async with Admission(plugin._serves, http, record):
        pass


def loaded(folder: Path, **options: Any) -> Keys:
    """The plugin as it is when its configuration was checked."""
    plugin = Keys(**options)
    plugin.check(config_of(folder))
    return plugin


def test_files_are_beside_pipelines_toml(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    assert Keys().files(config) == (tmp_path / "keys.json", tmp_path / "usage.sqlite3")
    assert Keys(file=Path("/x/k.json"), usage=Path("u")).files(config) == (Path("/x/k.json"), Path("/x/u"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", r"\[pipelines.messages\].*key 'file': .*keys.json cannot be read: no such file.*hookline keys add NAME"),
        ('file = "broken.json"', "broken.json is no JSON"),
        ('file = "good.json"\nusage = "none/u"', "key 'usage': .*none is no directory"),
        ("requests_per_minute = -1", r"\[keys\] key 'requests_per_minute'"),
        ('budget_period = "year"', r"\[keys\] key 'budget_period': expected one of 'day', 'week', 'month', 'total'"),
        ("budget = 3", r"\[keys\] key 'budget': unknown key"),
    ],
)
def test_what_cannot_be_served_stops_the_start(tmp_path: Path, table: str, said: str) -> None:
    written(tmp_path / "good.json")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "broken.json").chmod(0o600)
    with pytest.raises(ConfigError, match=said) as caught:
        load(config_of(tmp_path, table=table))
    assert "\n" not in str(caught.value)


def test_a_second_check_reads_nothing_again(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json")
    plugin = loaded(tmp_path)
    keeper = plugin._serves.keeper
    file.path.write_text("broken")
    plugin.check(config_of(tmp_path))
    assert plugin._serves.keeper is keeper


def test_options_are_the_defaults_of_keys(tmp_path: Path) -> None:
    options: dict[str, Any] = {"models": ("a",), "requests_per_minute": 1, "tokens_per_minute": 2}
    more: dict[str, Any] = {"max_concurrent": 3, "budget_tokens": 4, "budget_period": "day"}
    limits = Keys(**options, **more).defaults
    assert {name: getattr(limits, name) for name in (*options, *more)} == options | more


async def test_a_plugin_that_was_never_checked_lets_nobody_in() -> None:
    http = asking(made()[1])
    admission = Keys().exchange(http, Record(http))
    assert admission is not None
    with pytest.raises(RuntimeError, match="never checked"):
        await admission.__aenter__()
    assert Keys().lifespan() is None


@pytest.mark.parametrize(
    ("method", "mount", "path", "asks"),
    [
        ("HEAD", "", "/", False),
        ("HEAD", "", "", False),
        ("HEAD", "/v1", "", True),
        ("HEAD", "/v1", "/messages", True),
        ("GET", "", "/", True),
        ("OPTIONS", "/v1", "/messages", True),
        ("OPTIONS", "", "*", True),
    ],
)
def test_only_head_of_the_root_needs_no_key(method: str, mount: str, path: str, asks: bool) -> None:
    http = attrs.evolve(http_with(), method=method, mount=mount, path=path)
    assert (Keys().exchange(http, Record(http)) is not None) is asks


def test_outside_of_a_request_nothing_is_hidden(tmp_path: Path) -> None:
    key, _ = made(models=("x",))
    written(tmp_path / "keys.json", key)
    pipeline = load(config_of(tmp_path)).pipelines[0]
    http = attrs.evolve(http_with(), id="")
    assert [model.id for model in pipeline.known_models(http)] == ["small"]
    assert isinstance(pipeline.route(http, Request("message", model="small")), Route)


def test_a_request_that_was_not_let_in_may_nothing(tmp_path: Path) -> None:
    written(tmp_path / "keys.json", made()[0])
    pipeline = load(config_of(tmp_path)).pipelines[0]
    http = http_with()
    assert pipeline.known_models(http) == []
    with pytest.raises(RequestError, match="model: small"):
        pipeline.route(http, Request("message", model="small"))


async def test_the_route_of_a_request_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    key, token = made(models=("x",))
    written(tmp_path / "keys.json", key)
    pipeline = load(config_of(tmp_path)).pipelines[0]
    http = asking(token)
    (admission,) = pipeline.exchange(http, Record(http))
    async with admission:
        with pytest.raises(RequestError, match="model: small") as caught:
            pipeline.route(http, Request("message", model="small"))
        assert caught.value.kind == "not_found"


async def test_what_a_key_may_holds_for_a_request_whose_body_is_read_later(tmp_path: Path) -> None:
    """The gateway lets it in by its head; what its hooks see behind the body is another object."""
    key, token = made(models=("big-*",))
    written(tmp_path / "keys.json", key)
    pipeline = load(config_of(tmp_path)).pipelines[0]
    http = asking(token)
    (admission,) = pipeline.exchange(http, Record(http))
    async with admission:
        whole = attrs.evolve(http, body=b"{}")
        assert isinstance(pipeline.route(whole, Request("message", model="big-1")), Route)
        with pytest.raises(RequestError, match="model: small"):
            pipeline.route(whole, Request("message", model="small"))
        assert pipeline.known_models(whole) == []


def test_it_says_that_it_guards() -> None:
    assert Keys.guards is True
