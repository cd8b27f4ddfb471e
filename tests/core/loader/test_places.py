from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core import hookimpl
from core.config import Config, Secret
from core.config.types import make_converter
from core.contract import CONTRACT
from core.errors import ConfigError
from core.loader.discovery import Catalogue
from core.loader.places import Places
from tests.core import samples
from tests.core.samples import BACKEND, HERE, PIPELINE, config_of

Engine = samples.Engine


class Reads:
    """Belongs to a pipeline."""

    @hookimpl
    def parse(self) -> None: ...


class WantsNope(samples.Engine):
    """Names a default wrapper that is not installed."""

    wraps: ClassVar[tuple[str, ...]] = ("nope",)


def places(config: Config) -> Places:
    return Places(config, Catalogue.installed(), make_converter({"TOKEN": "hunter2"}))


def front(config: Config) -> Any:
    return places(config).front(config.pipelines[0])


def back(config: Config) -> Any:
    return places(config).back(config.backends["one"])


def told(folder: Path, text: str) -> str:
    config = config_of(folder, text)
    with pytest.raises(ConfigError) as caught:
        _ = front(config), back(config)
    return str(caught.value).removeprefix(f"{config.file}: ")


def test_front_options_are_overridden_key_by_key(tmp_path: Path) -> None:
    front_table = f'["{HERE}:Front"]\nbackends = ["a"]\nsecret = {{ env = "TOKEN" }}\n'
    own_table = f'[pipelines.main."{HERE}:Front"]\nbackends = ["b"]\n'
    made = front(config_of(tmp_path, front_table + PIPELINE + own_table + BACKEND))[f"{HERE}:Front"]
    assert (made.backends, made.secret) == (("b",), Secret("hunter2"))


def test_backend_options_are_the_sub_table(tmp_path: Path) -> None:
    made = back(config_of(tmp_path, f'{PIPELINE}{BACKEND}[backends.one."{HERE}:Engine"]\nword = "x"'))
    assert made[f"{HERE}:Engine"].word == "x"


def wrapped(rest: str = "") -> str:
    plugins = f'["{HERE}:Wrapped", "{HERE}:BothSides"]'
    return f"{PIPELINE}[backends.one]\nplugins = {plugins}\n{rest}"


def test_default_wrappers_stand_behind_their_plugin(tmp_path: Path) -> None:
    assert list(back(config_of(tmp_path, wrapped()))) == [f"{HERE}:Wrapped", f"{HERE}:Wrapper", f"{HERE}:BothSides"]
    sub_table = f'[backends.one."{HERE}:Wrapper"]\nword = "x"'
    assert back(config_of(tmp_path, wrapped(sub_table)))[f"{HERE}:Wrapper"].word == "x"


def test_wraps_in_the_table_replaces_the_defaults(tmp_path: Path) -> None:
    assert list(back(config_of(tmp_path, wrapped("wraps = []")))) == [f"{HERE}:Wrapped", f"{HERE}:BothSides"]
    others = back(config_of(tmp_path, wrapped(f'wraps = ["{HERE}:NoOptions"]')))
    assert list(others) == [f"{HERE}:Wrapped", f"{HERE}:NoOptions", f"{HERE}:BothSides"]


def test_a_default_wrapper_that_is_listed_keeps_its_place(tmp_path: Path) -> None:
    text = wrapped().replace(":BothSides", ":Wrapper")
    assert list(back(config_of(tmp_path, text))) == [f"{HERE}:Wrapped", f"{HERE}:Wrapper"]


def test_each_place_has_its_own_instance(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    maker = places(config)
    one, two = maker.back(config.backends["one"]), maker.back(config.backends["one"])
    assert one[f"{HERE}:Engine"] is not two[f"{HERE}:Engine"]
    assert isinstance(one[f"{HERE}:Engine"], samples.Engine)


@pytest.mark.parametrize(
    ("engine", "wraps", "place"),
    [
        ("Engine", 'wraps = ["nope"]', "[backends.one] key 'wraps': no plugin 'nope'; "),
        (
            "WantsNope",
            "",
            f"[backends.one] key 'plugins': plugin '{__name__}:WantsNope' wants a wrapper: no plugin 'nope'; ",
        ),
        (
            "Engine",
            f'wraps = ["{HERE}:Free", "{__name__}:Reads"]',
            f"[backends.one] key 'wraps': plugin '{__name__}:Reads': parse ",
        ),
    ],
)
def test_an_unknown_wrapper_is_told_where_it_was_asked_for(tmp_path: Path, engine: str, wraps: str, place: str) -> None:
    text = told(tmp_path, f'{PIPELINE}[backends.one]\nplugins = ["{__name__}:{engine}"]\n{wraps}')
    assert text.startswith(place)
    assert "vllm" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PIPELINE.replace("Front", "Frnt") + BACKEND,
            (
                f"[pipelines.main] key 'plugins': plugin '{HERE}:Frnt': module '{HERE}' has no 'Frnt'; "
                "did you mean 'Front'?"
            ),
        ),
        (
            PIPELINE + '[backends."one"]\nplugins = ["vlm"]',
            "[backends.one] key 'plugins': no plugin 'vlm'; did you mean 'vllm'? or write module:Class",
        ),
        (
            f'["{HERE}:Front"]\nbckends = []\n{PIPELINE}{BACKEND}',
            f"[\"{HERE}:Front\"] key 'bckends': unknown key; did you mean 'backends'?",
        ),
        (
            f'{PIPELINE}[pipelines.main."{HERE}:Front"]\nbackends = [1]\n{BACKEND}',
            f"[pipelines.main.\"{HERE}:Front\"] key 'backends.0': expected a string, got an integer",
        ),
        (
            f'{PIPELINE}[pipelines.main."{HERE}:Front"]\nsecret = {{ env = "NO" }}\n{BACKEND}',
            (
                f"[pipelines.main.\"{HERE}:Front\"] key 'secret': the environment variable NO is not set; "
                "set it, or take the key away"
            ),
        ),
        (
            f'{PIPELINE}{BACKEND}[backends.one."{HERE}:Engine"]\nwrd = 1',
            f"[backends.one.\"{HERE}:Engine\"] key 'wrd': unknown key; did you mean 'word'?",
        ),
        (
            f"{PIPELINE}{BACKEND}[backends.one.hedaers]\nx = 'y'",
            "[backends.one] key 'hedaers': no plugin 'hedaers' is listed here; did you mean 'headers'?",
        ),
        (
            PIPELINE + BACKEND.replace("Engine", "BadWraps"),
            (
                f"[backends.one] key 'plugins': plugin '{HERE}:BadWraps': wraps is not a tuple of names, or of names "
                'with options; write wraps = ("stop_scan",), or (("stop_scan", {"upstream": "never"}),)'
            ),
        ),
        (
            PIPELINE + BACKEND.replace("Engine", "Unmakeable"),
            f"[backends.one.\"{HERE}:Unmakeable\"]: plugin '{HERE}:Unmakeable' cannot be made: ValueError: no luck",
        ),
        (
            f'{PIPELINE}{BACKEND.replace("Engine", "Unmakeable")}[backends.one."{HERE}:Unmakeable"]\nlevel = 2',
            f'[backends.one."{HERE}:Unmakeable"]: too high',
        ),
        (
            f'{PIPELINE}{BACKEND.replace("Engine", "NoOptions")}[backends.one."{HERE}:NoOptions"]\nlevel = 2',
            f"[backends.one.\"{HERE}:NoOptions\"] key 'level': plugin '{HERE}:NoOptions' takes no options",
        ),
    ],
)
def test_faults_name_their_table(tmp_path: Path, text: str, message: str) -> None:
    assert told(tmp_path, text) == message


class OfTomorrow(samples.Engine):
    """Made for a contract that is not here yet."""

    contract: ClassVar[int] = CONTRACT + 1


class WantsTomorrow(samples.Engine):
    """Brings such a plugin as its wrapper."""

    wraps: ClassVar[tuple[str, ...]] = (f"{__name__}:OfTomorrow",)


@pytest.mark.parametrize("engine", ["OfTomorrow", "WantsTomorrow"])
def test_a_plugin_of_another_contract_stops_the_start(tmp_path: Path, engine: str) -> None:
    text = told(tmp_path, f'{PIPELINE}[backends.one]\nplugins = ["{__name__}:{engine}"]')
    assert text == (
        f"[backends.one] key 'plugins': plugin '{__name__}:OfTomorrow' was made for contract {CONTRACT + 1}, but "
        f"hookline {version('hookline')} serves contract {CONTRACT}; install a newer hookline or an older plugin"
    )


def test_the_owner_of_a_plugin_is_told_with_its_distribution() -> None:
    catalogue = Catalogue.installed()
    assert catalogue.owner("vllm") == f"plugin 'vllm' of hookline {version('hookline')}"
    assert catalogue.owner("my:Plugin") == "plugin 'my:Plugin'"


class Gives(samples.Engine):
    """Brings a wrapper with an option."""

    wraps: ClassVar[Any] = ((f"{HERE}:Wrapper", {"word": "given"}),)


class GivesWrong(samples.Engine):
    """Brings it with one that it does not take."""

    wraps: ClassVar[Any] = ((f"{HERE}:Wrapper", {"word": 7}),)


def giving(rest: str, plugins: str = "", engine: str = "Gives") -> str:
    return f'{PIPELINE}[backends.one]\nplugins = ["{__name__}:{engine}"{plugins}]\n{rest}'


@pytest.mark.parametrize(
    ("rest", "plugins", "word"),
    [
        ("", "", "given"),
        ("", f', "{HERE}:Wrapper"', "given"),
        (f'wraps = ["{HERE}:Wrapper"]', "", "given"),
        (f'[backends.one."{HERE}:Wrapper"]\nword = "mine"', "", "mine"),
    ],
)
def test_a_wrapper_has_the_options_of_the_class_that_brings_it(
    tmp_path: Path, rest: str, plugins: str, word: str
) -> None:
    assert back(config_of(tmp_path, giving(rest, plugins)))[f"{HERE}:Wrapper"].word == word


def test_a_wrong_option_is_told_of_who_gave_it(tmp_path: Path) -> None:
    me = f"{__name__}:GivesWrong"
    assert told(tmp_path, giving("", engine="GivesWrong")) == (
        f"[backends.one] key 'plugins': plugin '{me}' gives options to '{HERE}:Wrapper' key 'word': "
        "expected a string, got an integer"
    )
    table = f'[backends.one."{HERE}:Wrapper"]'
    mine = told(tmp_path, giving(f"{table}\nwrd = 1", engine="Gives"))
    assert mine == f"{table} key 'wrd': unknown key; did you mean 'word'?"
    assert told(tmp_path, giving(f"{table}\nword = []", engine="GivesWrong")).startswith(f"{table} key 'word'")


def test_a_certificate_that_has_gone_is_told_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.config.rules._checked_ca", str)
    config = config_of(tmp_path, f'{PIPELINE}{BACKEND}ca = "gone.pem"')
    with pytest.raises(ConfigError, match=r"one.* key 'ca': .*gone\.pem cannot be read: No such file"):
        back(config)
