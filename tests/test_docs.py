"""The documentation is kept true: its code runs, its tables are the code's, its hooks are all there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attrs
import pytest

from core import chat, testing
from core.loader.classes import check_class, hook_names, implementations_of
from core.testing import strategies

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
PLUGINS = ROOT / "docs" / "plugins.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
EXAMPLE = ROOT / "docs" / "examples" / "hookline-parrot"
BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\]\((?!https?://)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


@attrs.frozen
class Block:
    """One fenced block of a page; `file` is the file that it must be a part of, "" when it is of its own."""

    page: Path
    language: str
    code: str
    file: str

    def __str__(self) -> str:
        return f"{self.page.name}: {self.code.splitlines()[0] if self.code else 'empty'}"


def blocks_of(page: Path) -> Iterator[Block]:
    for found in BLOCK.finditer(page.read_text()):
        yield Block(page, found["language"], found["code"], found["file"] or "")


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.file], ids=str)
def test_shown_files_are_as_shown(block: Block) -> None:
    assert block.code.strip()
    assert block.code in (ROOT / block.file).read_text()


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_python_compiles_and_its_imports_are_there(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    for node in ast.walk(ast.parse(block.code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "toml"], ids=str)
def test_toml_is_toml(block: Block) -> None:
    assert tomllib.loads(block.code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text()):
        target = page.parent / link["path"] if link["path"] else page
        assert target.exists(), link[0]
        if link["anchor"]:
            assert link["anchor"] in anchors_of(target), link[0]


def test_the_plugin_page_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    space: dict[str, Any] = {"__name__": "plugins_page"}
    for block in blocks_of(PLUGINS):
        if block.language == "python":
            space["__file__"] = str(ROOT / block.file)
            exec(compile(block.code, f"{PLUGINS.name}", "exec", dont_inherit=True), space)
    for name in ("Parrot", "Trim", "Cool", "Lyrebird"):
        check_class(name, space[name], in_backend=True)
    tests = [value for name, value in space.items() if name.startswith("test_") and not vars(value)]
    assert tests
    for test in tests:
        test()
    reply = testing.replay(["vllm", space["Cool"]], [testing.UpstreamAnswer().json()], request={"temperature": 1})
    assert reply.sent["temperature"] == 0.0


def test_the_table_of_backends_is_complete() -> None:
    text = CONFIGURATION.read_text().partition("\n## Built-in backends\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(named) == sorted(
        entry.name
        for entry in entry_points(group="hookline.plugins")
        if entry.value.startswith("plugins.")
        and any(each.hook == "call_upstream" and not each.wrapper for each in implementations_of(entry.load()))
    )


def test_the_example_imports_the_public_api_alone() -> None:
    public = {"core", "core.chat", "core.testing", "core.testing.strategies"}
    for path in EXAMPLE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert {name for name in named if name.split(".")[0] in {"core", "plugins"}} <= public


def test_the_plugin_page_has_every_hook_in_order() -> None:
    shown = re.findall(r"^### `(\w+)\((.*)\)`$", PLUGINS.read_text(), re.MULTILINE)
    assert [(name, tuple(filter(None, arguments.split(", ")))) for name, arguments in shown] == list(
        hook_names().items()
    )


@pytest.mark.parametrize("hook", hook_names())
def test_each_hook_says_when_what_in_what_out_and_none(hook: str) -> None:
    section = PLUGINS.read_text().partition(f"\n### `{hook}(")[2].partition("\n### ")[0].partition("\n## ")[0]
    assert re.findall(r"^- \*\*(\w+)\*\*", section, re.MULTILINE) == ["Called", "In", "Out", "None"]
    taken = section.partition("- **In**")[2].partition("- **Out**")[0]
    assert not [name for name in hook_names()[hook] if f"`{name}`" not in taken]


def test_the_dialect_table_is_the_class() -> None:
    text = PLUGINS.read_text()
    rows = text.partition("| field | default | meaning |\n| --- | --- | --- |\n")[2].partition("\n\n")[0]
    assert rows.splitlines() == dialect_rows()


def test_the_toolkit_table_has_the_signatures() -> None:
    for name, arguments in calls_in("| from `core.chat` |"):
        parameters = inspect.signature(getattr(chat, name)).parameters.values()
        shown = [parameter for parameter in parameters if not parameter.name.startswith("_")]
        many = {parameter.name: "*" * (parameter.kind is parameter.VAR_POSITIONAL) for parameter in shown}
        assert arguments in ("...", ", ".join(star + each for each, star in many.items())), name


def test_the_testing_table_names_what_is_there() -> None:
    for path, arguments in calls_in("| from `core.testing` |"):
        module, _, name = path.rpartition(".")
        parameters = list(inspect.signature(getattr(strategies if module else testing, name)).parameters)
        given = [] if arguments == "..." else arguments.strip("*").split(", ")
        assert given == parameters[: len(given)], name


def calls_in(heading: str) -> list[tuple[str, str]]:
    """The calls in the first column of a table: name and arguments."""
    table = PLUGINS.read_text().partition(heading)[2].partition("\n\n")[0]
    found = re.findall(r"`([\w.]+)\(([^)]*)\)`", "\n".join(row.split(" | ")[0] for row in table.splitlines()))
    assert found
    return found


def dialect_rows() -> list[str]:
    """A row for each field: its default, what else it may be, and the docstring that stands under it."""
    (cls,) = (node for node in ast.walk(ast.parse(inspect.getsource(chat.Dialect))) if isinstance(node, ast.ClassDef))
    rows = []
    for field, under in zip(cls.body, cls.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(under, ast.Expr):
            name, meaning = ast.unparse(field.target), " ".join(ast.literal_eval(under.value).split())
            rows.append(f"| `{name}` | {default_of(name)}{others_of(field.annotation, name)} | {meaning} |")
    assert len(rows) == len(attrs.fields(chat.Dialect))
    return rows


def default_of(name: str) -> str:
    return f"`{getattr(chat.Dialect(), name)!r}`"


def others_of(annotation: ast.expr, name: str) -> str:
    """The other values of a Literal."""
    if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal"):
        return ""
    values = ast.literal_eval(annotation.slice)
    return "".join(f", or `{value!r}`" for value in values if value != getattr(chat.Dialect(), name))


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
