from pathlib import Path
from typing import Any

import attrs
import pluggy
import pytest

from core import hookimpl
from core.config import Secret
from core.errors import ConfigError
from core.hook_call import call_hook
from core.loader.assemble import Loaded, join, load
from core.request import HTTPRequest, Request
from core.route import Route
from tests.core import samples
from tests.core.samples import BACKEND, HERE, PIPELINE, config_of

HTTP = HTTPRequest("POST", "/messages")
REQUEST = Request("message", model="model-one")
ROUTE = Route(())
SECOND = f'[pipelines.second]\npaths = ["/v2"]\nplugins = ["{HERE}:Front", "{HERE}:BothSides"]\n'
TWO = f'[backends.two]\nplugins = ["{HERE}:Wrapped"]\n'


@attrs.frozen(eq=False)
class Sulking:
    """Refuses every configuration, and does not say where."""

    file: str = ""

    @hookimpl
    def check(self) -> None:
        raise ConfigError("not today", file=self.file, hint="wait")


def loaded(folder: Path, text: str = PIPELINE + BACKEND) -> Loaded:
    return load(config_of(folder, text), {"TOKEN": "hunter2"})


def told(folder: Path, text: str) -> str:
    config = config_of(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(config, {})
    return str(caught.value).removeprefix(f"{config.file}: ")


def plugins_of(managers: tuple[pluggy.PluginManager, ...]) -> list[Any]:
    return [plugin for manager in managers for _, plugin in manager.list_name_plugin()]


def test_a_pipeline_is_ready_to_serve(tmp_path: Path) -> None:
    result = loaded(tmp_path)
    (pipeline,) = result.pipelines
    assert (pipeline.name, pipeline.paths, list(pipeline.backs)) == ("main", ("/v1",), ["one"])
    assert pipeline.route(HTTP, REQUEST) is not None
    back = pipeline.backs["one"]
    assert back.client is result.clients[0]
    calls: list[Any] = [back.call_upstream(REQUEST, ROUTE), back.translate_content(REQUEST, ROUTE)]
    assert calls == ["call of engine", ["engine"]]


def test_every_pair_of_pipeline_and_backend_has_a_manager(tmp_path: Path) -> None:
    result = loaded(tmp_path, PIPELINE + SECOND + BACKEND + TWO)
    found: dict[tuple[str, str], Any] = {
        (pipeline.name, name): back.translate_content(REQUEST, ROUTE)
        for pipeline in result.pipelines
        for name, back in pipeline.backs.items()
    }
    assert found == {
        ("main", "one"): ["engine"],
        ("main", "two"): ["engine", "wrapper"],
        ("second", "one"): ["engine", "both"],
        ("second", "two"): ["engine", "wrapper", "both"],
    }
    main, second = result.pipelines
    assert main.backs["two"].client is second.backs["two"].client
    assert [client.backend.name for client in result.clients] == ["one", "two"]


@pytest.mark.parametrize(("plugin", "header"), [("azure", "api-key"), ("openai", "authorization")])
def test_the_key_goes_into_the_header_of_the_engine(tmp_path: Path, plugin: str, header: str) -> None:
    backend = f'[backends.one]\nplugins = ["{plugin}"]\nurl = "http://host"\nkey = "sesame"\n'
    (client,) = loaded(tmp_path, PIPELINE + backend).clients
    assert client.http.headers[header].removeprefix("Bearer ") == "sesame"


def test_managers_hold_each_plugin_once(tmp_path: Path) -> None:
    result = loaded(tmp_path, PIPELINE + SECOND + BACKEND + TWO)
    kinds = [type(plugin) for plugin in plugins_of(result.managers)]
    wanted = [samples.Front, samples.Front, samples.BothSides, samples.Engine, samples.Wrapped, samples.Wrapper]
    assert kinds == wanted
    pairs = tuple(back.manager for pipeline in result.pipelines for back in pipeline.backs.values())
    assert {id(plugin) for plugin in plugins_of(pairs)} == {id(plugin) for plugin in plugins_of(result.managers)}


def test_check_is_called_once_per_plugin(tmp_path: Path) -> None:
    result = loaded(tmp_path, PIPELINE + BACKEND + TWO)
    front = result.pipelines[0].manager.get_plugin(f"{HERE}:Front")
    assert front is not None
    assert front.seen == [result.config.file]


def test_secrets_of_options_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'["{HERE}:Front"]\nsecret = {{ env = "TOKEN" }}\n{PIPELINE}{BACKEND}'
    monkeypatch.setenv("TOKEN", "of the process")
    for result, secret in ((loaded(tmp_path, text), "hunter2"), (load(config_of(tmp_path, text)), "of the process")):
        plugin = result.pipelines[0].manager.get_plugin(f"{HERE}:Front")
        assert plugin is not None
        assert plugin.secret == Secret(secret)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PIPELINE.replace("Front", "BothSides") + BACKEND,
            "[pipelines.main] key 'plugins': no plugin here answers parse; list one that does, 'anthropic' say",
        ),
        (
            PIPELINE + BACKEND.replace("Engine", "Wrapper"),
            (
                "[backends.one] key 'plugins': no plugin here answers call_upstream; "
                "list the engine's plugin, 'openai' say"
            ),
        ),
        (
            PIPELINE + BACKEND.replace("Engine", "Remote"),
            f"[backends.one] key 'url': missing, and plugin '{HERE}:Remote' needs it",
        ),
        (
            PIPELINE.replace(":Front", f':Front", "{HERE}:Wrapper') + BACKEND.replace("Engine", "Wrapped"),
            (
                f"[backends.one] key 'plugins': plugin '{HERE}:Wrapper' is in the pipeline and, as a default, "
                "in this backend; set wraps = []"
            ),
        ),
        (
            PIPELINE + f'[backends.one]\nplugins = ["{HERE}:Engine", "{HERE}:Equal", "{HERE}:Alias"]',
            (
                f"[backends.one] key 'plugins': plugins '{HERE}:Equal' and '{HERE}:Alias' are equal, and pluggy "
                "takes them for one; keep one of them, or give the class @attrs.frozen(eq=False)"
            ),
        ),
        (
            PIPELINE + f'[backends.one]\nplugins = ["{HERE}:Engine", "{HERE}:Refusing"]',
            "[today] key 'weather': not today; wait",
        ),
        (
            PIPELINE
            + f'[backends.one]\nplugins = ["{HERE}:Engine", "{HERE}:Refusing"]\n'
            + f'[backends.one."{HERE}:Refusing"]\nhow = "badly"',
            f"[backends.one]: plugin '{HERE}:Refusing': its check failed: ValueError: broken",
        ),
        (
            PIPELINE
            + f'[backends.one]\nplugins = ["{HERE}:Engine", "{__name__}:Sulking"]\n'
            + f'[backends.one."{__name__}:Sulking"]\nfile = "p.toml"',
            f"p.toml: [backends.one]: plugin '{__name__}:Sulking': not today; wait",
        ),
        (
            PIPELINE.replace("Front", f'Front", "{__name__}:Sulking') + BACKEND,
            f"[pipelines.main]: plugin '{__name__}:Sulking': not today; wait",
        ),
        (
            PIPELINE + f'[backends.one]\nplugins = ["{HERE}:Engine", "{HERE}:Remote"]\nurl = "http://h"',
            (
                f"[backends.one] key 'plugins': plugins '{HERE}:Engine' and '{HERE}:Remote' both answer "
                f"call_upstream, and '{HERE}:Engine' would never be called; keep one of them, and wrappers"
            ),
        ),
        (
            PIPELINE + BACKEND + 'url = "http://h"',
            f"[backends.one] key 'url': plugin '{HERE}:Engine' calls no address; take it away",
        ),
        (
            PIPELINE + BACKEND.replace(f"{HERE}:Engine", "models"),
            (
                "[backends.one] key 'plugins': plugin 'models': list_models would never be called in a backend; "
                "list the plugin under [pipelines.NAME]"
            ),
        ),
    ],
)
def test_what_cannot_be_served_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    assert told(tmp_path, text) == message


def test_join_registers_in_order() -> None:
    plugins = {"engine": samples.Engine(), "inner": samples.Wrapper("inner"), "outer": samples.Wrapper("outer")}
    found = call_hook(join(plugins), "translate_content", "test", {"request": REQUEST, "route": ROUTE})
    assert found == ["engine", "inner", "outer"]


def kept(folder: Path, before: str, after: str) -> dict[str, bool]:
    """Whether each plugin and client of the second text is the first's, by their names."""
    first = loaded(folder, before)
    second = load(config_of(folder, after), {"TOKEN": "hunter2"}, first)
    old = {id(each) for each in first.clients} | {id(each) for m in first.managers for each in m.get_plugins()}
    found = {f"client {client.backend.name}": id(client) in old for client in second.clients}
    places: list[Any] = [*second.config.pipelines, *second.config.backends.values()]
    for place, manager in zip(places, second.managers, strict=True):
        found |= {f"{place.name} {name.split(':')[1]}": id(each) in old for name, each in manager.list_name_plugin()}
    return found


def test_what_stays_is_kept_and_the_rest_is_made_anew(tmp_path: Path) -> None:
    before = PIPELINE + SECOND + BACKEND + TWO
    after = f'["{HERE}:Front"]\nbackends = ["two"]\n' + before.replace("Wrapped", "Engine")
    assert kept(tmp_path, before, f"# all the same\n{before}") == dict.fromkeys(kept(tmp_path, before, before), True)
    assert kept(tmp_path, before, after) == {
        "client one": True,
        "client two": False,
        "main Front": False,
        "second Front": False,
        "second BothSides": True,
        "one Engine": True,
        "two Engine": False,
    }


def test_a_backend_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    before = PIPELINE + TWO
    for more in (f'[backends.two."{HERE}:Wrapper"]\nword = "x"', "read_timeout = 3", "extra_body = { n = 1 }"):
        assert kept(tmp_path, before, before + more) == {
            "client two": False,
            "main Front": True,
            "two Wrapped": False,
            "two Wrapper": False,
        }


def test_what_is_known_of_a_backend_is_shared_by_pipelines_and_kept_with_its_table(tmp_path: Path) -> None:
    text = PIPELINE + SECOND + BACKEND + TWO
    first = loaded(tmp_path, text + "max_concurrent = 3")
    main, second = first.pipelines
    state = main.backs["two"].state
    assert state is second.backs["two"].state is not main.backs["one"].state
    assert state.places.limit == 3
    for keys, same in (("max_concurrent = 3", True), ("max_concurrent = 4", False)):
        (again, _) = load(config_of(tmp_path, text + keys), {"TOKEN": "hunter2"}, first).pipelines
        assert (again.backs["two"].state is state) == same
        assert again.backs["one"].state is main.backs["one"].state


def test_another_certificate_is_another_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.config.rules._checked_ca", str)
    monkeypatch.setattr("core.loader.assemble.UpstreamClient", UntrustingClient)
    text = PIPELINE + BACKEND + 'ca = "ca.pem"'
    ca = tmp_path / "ca.pem"
    ca.write_text("one")
    first = loaded(tmp_path, text)
    assert load(config_of(tmp_path, text), {}, first).clients == first.clients
    ca.write_text("two")
    assert load(config_of(tmp_path, text), {}, first).clients != first.clients


class UntrustingClient:
    """Does not look into the certificates."""

    def __init__(self, backend: Any, **_: str) -> None:
        self.backend = backend


def test_what_is_kept_is_checked_in_the_new_company(tmp_path: Path) -> None:
    first = loaded(tmp_path, PIPELINE + BACKEND)
    with pytest.raises(ConfigError, match="call_upstream"):
        load(config_of(tmp_path, PIPELINE + BACKEND + TWO.replace("Wrapped", "Wrapper")), {}, first)
    load(config_of(tmp_path, PIPELINE + BACKEND), {}, first)
    plugin: Any = first.pipelines[0].manager.get_plugin(f"{HERE}:Front")
    assert len(plugin.seen) == 2


def test_a_hook_that_a_plugin_does_not_need_is_not_called() -> None:
    class Sometimes:
        def __init__(self, *unused: str) -> None:
            self.unused = unused

        @hookimpl
        def page(self, http: HTTPRequest) -> str:
            return http.path

        @hookimpl
        def exchange(self) -> None:
            raise AssertionError

    manager = join({"a": Sometimes("exchange"), "b": Sometimes("exchange", "page")})
    assert manager.hook.exchange.get_hookimpls() == []
    assert [each.plugin_name for each in manager.hook.page.get_hookimpls()] == ["a"]
