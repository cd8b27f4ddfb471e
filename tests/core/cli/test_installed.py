from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path

import pytest

from core.cli.installed import InstalledPlugin, installed_plugins
from core.cli.plugins import plugins_text
from core.cli.schema import schema_of
from core.contract import CONTRACT
from core.loader.discovery import GROUP
from tests.core.loader.test_discovery import BROKEN, install

ASYNC = "from core import hookimpl\nclass Plugin:\n    @hookimpl\n    async def parse(self): ..."
WRAPPER = (
    "from core import hookimpl\nclass Plugin:\n    '''Wraps it.\n\n    More.'''\n"
    "    @hookimpl(wrapper=True)\n    def translate_stop(self): return (yield)"
)
FUTURE = WRAPPER.replace("    @hook", f"    contract = {CONTRACT + 1}\n    @hook", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def found(name: str) -> InstalledPlugin:
    (plugin,) = installed_plugins(entry for entry in entry_points(group=GROUP) if entry.name == name)
    return plugin


def test_all_of_ours_can_be_used_and_are_of_this_version() -> None:
    ours = [entry for entry in entry_points(group=GROUP) if entry.value.startswith("plugins.")]
    plugins = installed_plugins(ours)
    assert {plugin.name for plugin in plugins} == {entry.name for entry in ours}
    assert {plugin.distribution for plugin in plugins} == {f"hookline {version('hookline')}"}
    assert [(plugin.name, plugin.fault) for plugin in plugins if plugin.fault or not plugin.summary] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [("anthropic", "front"), ("models", "front"), ("vllm", "backend"), ("demo", "backend"), ("capture", "wrapper")],
)
def test_the_kind_is_told_by_the_hooks(name: str, kind: str) -> None:
    assert found(name).kind == kind


def test_a_class_of_other_hooks_is_of_no_kind() -> None:
    assert InstalledPlugin("x", "y", object, hooks=(("check", False),)).kind == "other"


def test_a_wrapper_of_anyones(folder: Path) -> None:
    install(folder, "dist-wrapper", "listed-wrapper", "listed_wrapper_module", WRAPPER)
    plugin = found("listed-wrapper")
    assert (plugin.kind, plugin.distribution, plugin.summary) == ("wrapper", "dist-wrapper 1.2", "Wraps it.")
    assert (plugin.answers("translate_stop"), plugin.fault) == (False, "")


@pytest.mark.parametrize(
    ("code", "kind", "fault"),
    [
        (BROKEN, "broken", "fails to import: RuntimeError: no libfoo"),
        ("Plugin = 5", "broken", "is not a class: listed_module:Plugin is a int"),
        (ASYNC, "front", "parse is `async def`, but hooks are plain functions; return at once an object that does"),
        (FUTURE, "wrapper", f"was made for contract {CONTRACT + 1}, but hookline "),
        ("class Plugin: ...", "other", "implements no hook; mark its methods with core.hookimpl"),
    ],
)
def test_a_broken_plugin_is_listed_with_its_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, kind: str, fault: str
) -> None:
    monkeypatch.delitem(sys.modules, "listed_module", raising=False)
    install(folder, "dist-listed", "listed", "listed_module", code)
    plugin = found("listed")
    assert (plugin.kind, plugin.fault[: len(fault)]) == (kind, fault)


def test_a_class_that_cannot_be_looked_at_hides_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "listed_module", raising=False)
    code = "class Meta(type):\n    def __dir__(cls): raise LookupError('no')\nclass Plugin(metaclass=Meta): ..."
    install(folder, "dist-listed", "listed", "listed_module", code)
    entry = EntryPoint("listed", "listed_module:Plugin", GROUP)
    odd, demo = installed_plugins([entry, *entry_points(group=GROUP, name="demo")])[::-1]
    assert (odd.fault, demo.fault) == ("LookupError: no", "")


@pytest.mark.parametrize(
    ("name", "code", "fault", "usable"),
    [
        (
            "meta",
            "class M(type):\n    wraps = property(lambda s: 1 / 0)\nclass Plugin(metaclass=M): ...",
            "Zero",
            False,
        ),
        ("wraps", WRAPPER.replace("    @hook", "    wraps = 5\n    @hook", 1), "wraps is not a tuple of names", True),
        (
            "factory",
            "import attrs\n@attrs.frozen\nclass Plugin:\n    x: int = attrs.field(factory=lambda: 1 / 0)",
            "its options cannot be read: ZeroDivisionError: division by zero",
            False,
        ),
        (
            "types",
            "import attrs\n" + WRAPPER.replace("class", "@attrs.frozen\nclass", 1) + "\n    x: 'nowhere.X' = 1",
            "has a field whose type is not defined when it runs: NameError",
            True,
        ),
    ],
)
def test_an_odd_class_hides_no_other(folder: Path, name: str, code: str, fault: str, usable: bool) -> None:
    install(folder, f"dist-odd-{name}", f"odd-{name}", f"odd_{name}_module", code)
    plugin = found(f"odd-{name}")
    assert fault in plugin.fault
    assert (plugin.cls is not None) is usable
    assert plugins_text([plugin]).count("cannot be used") == 1
    assert f"odd-{name}" in schema_of([plugin])["properties"]


def test_two_of_one_name_are_both_told(folder: Path) -> None:
    install(folder, "dist-twin-a", "listed-twin", "listed_twin_a", WRAPPER)
    install(folder, "dist-twin-b", "listed-twin", "listed_twin_b", WRAPPER)
    twins = installed_plugins(entry for entry in entry_points(group=GROUP) if entry.name == "listed-twin")
    fault = "comes from dist-twin-a 1.2 and dist-twin-b 1.2; uninstall one of them, or write module:Class"
    assert [plugin.fault for plugin in twins] == [fault, fault]
