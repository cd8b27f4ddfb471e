"""What docs/plugins.md shows of the loader's refusals is what the loader says."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from core.config.file import read_config
from core.errors import ConfigError
from core.loader import load

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
IMPORTS = """
import attrs, pluggy
from core import ConfigError, hookimpl
from core.chat import Call, Content, FinishReason
"""
CALL = """
@hookimpl
def call_upstream(self, request, route, client):
    return Call(request, route, client)
"""
REST = """
@hookimpl
def translate_content(self):
    return Content()

@hookimpl
def translate_stop(self):
    return FinishReason()
"""
WHOLE = CALL + REST
REFUSING = """
@hookimpl
def check(self):
    raise ConfigError("no bird is at home", hint="feed one")
"""
TABLES = """
[pipelines.messages]
paths = ["/v1"]
plugins = ["anthropic", "models"]

[backends.parrot]
"""
LISTED = 'plugins = ["mine:Parrot"]\nurl = "http://127.0.0.1:9000/v1"\n'
OPTIONS = '[backends.parrot."mine:Parrot"]\n'


def parrot(body: str, decorator: str = "@attrs.frozen(eq=False)") -> str:
    return f"{IMPORTS}\n{decorator}\nclass Parrot:\n{indent(dedent(body), '    ')}"


REFUSALS: dict[str, tuple[str, str]] = {
    "no such plugin": ("", LISTED.replace("mine:Parrot", "vlm")),
    "fails to import": ("import parots", LISTED),
    "no such class": ("class Parot: ...", LISTED),
    "not a class": ("Parrot = 7", LISTED),
    "no hook": ("class Parrot: ...", LISTED),
    "misspelt hook": (parrot("@hookimpl\ndef translate_stops(self): ..."), LISTED),
    "no marker": (parrot("def translate_stop(self): ..."), LISTED),
    "marker of another program": (
        parrot("@pluggy.HookimplMarker('pytest')\ndef translate_stop(self): ..."),
        LISTED,
    ),
    "async def": (parrot("@hookimpl\nasync def call_upstream(self): ..."), LISTED),
    "wrapper without yield": (parrot("@hookimpl(wrapper=True)\ndef translate_stop(self): ..."), LISTED),
    "yield without wrapper": (parrot("@hookimpl\ndef translate_stop(self):\n    yield"), LISTED),
    "unknown argument": (parrot("@hookimpl\ndef translate_stop(self, response): ..."), LISTED),
    "argument with a default": (parrot("@hookimpl\ndef translate_stop(self, request=None): ..."), LISTED),
    "front hook in a backend": (parrot("@hookimpl\ndef parse(self, http): ..."), LISTED),
    "hook without an answer": (parrot(REST), LISTED),
    "two engines": (parrot(WHOLE), LISTED.replace('"mine:Parrot"', '"mine:Parrot", "openai"')),
    "no url": (parrot(WHOLE), LISTED.splitlines()[0]),
    "a url for nobody": (parrot("needs_url = False\n" + WHOLE), LISTED),
    "no such wrapper": (parrot('wraps = ("mine:Trim",)\n' + WHOLE) + "\nclass Trimmed: ...", LISTED),
    "a check that names no table": (parrot(REFUSING + WHOLE), LISTED + '\n[models]\n"m" = { backend = "parrot" }\n'),
    "wraps is a string": (parrot('wraps = "trim"\n' + WHOLE), LISTED),
    "unknown option": (parrot('voice: str = "grey"\n' + WHOLE), LISTED + OPTIONS + 'voise = "ara"'),
    "option of a wrong type": (parrot('voice: str = "grey"\n' + WHOLE), LISTED + OPTIONS + "voice = 7"),
    "option not given": (parrot("voice: str\n" + WHOLE), LISTED),
    "equal plugins": (
        parrot(WHOLE, "@attrs.frozen") + "\nAra = Parrot",
        LISTED.replace('"mine:Parrot"', '"mine:Parrot", "mine:Ara"'),
    ),
}


@pytest.fixture
def refusal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    module, tables = REFUSALS[request.param]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    Path("mine.py").write_text(module)
    Path("pipelines.toml").write_text(TABLES + tables)
    with pytest.raises(ConfigError) as caught:
        load(read_config(Path("pipelines.toml"), {}), {})
    sys.modules.pop("mine", None)
    return str(caught.value)


@pytest.mark.parametrize("refusal", REFUSALS, indirect=True)
def test_the_page_shows_the_refusal_word_for_word(refusal: str) -> None:
    assert refusal in shown()


def test_the_page_shows_no_other() -> None:
    assert len(shown()) == len(REFUSALS)


def shown() -> list[str]:
    section = PAGE.read_text().partition("\n## What is refused at start\n")[2]
    return section.partition("```text\n")[2].partition("\n```")[0].splitlines()
