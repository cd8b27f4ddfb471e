"""docs/conformance.md has every rule and every fact, in the words of the code."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any, Final

import attrs

from core import hookimpl
from core.chat import FinishReason
from core.testing import EngineFacts, conformance
from core.testing.kit.catalogue import GROUPS

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "docs" / "conformance.md").read_text()
PLUGINS: Final = (ROOT / "docs" / "plugins.md").read_text()
CHANGELOG: Final = (ROOT / "CHANGELOG.md").read_text()


def test_every_rule_is_there_in_order_with_what_it_says() -> None:
    rules = PAGE.partition("\n## Rules\n")[2].partition("\n## ")[0]
    groups = {
        heading.lower(): re.findall(r"^\| `([\w-]+)` \| (.*) \|$", body, re.MULTILINE)
        for heading, body in re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", rules, re.MULTILINE | re.DOTALL)
    }
    assert groups == {name: [(rule.name, rule.says) for rule in rules] for name, rules in GROUPS.items()}


def test_every_fact_is_there_with_default_and_meaning() -> None:
    (cls,) = ast.parse(inspect.getsource(EngineFacts)).body
    assert isinstance(cls, ast.ClassDef)
    rows = []
    for field, under in zip(cls.body, cls.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(under, ast.Expr):
            name, meaning = ast.unparse(field.target), " ".join(ast.literal_eval(under.value).split())
            rows.append(f"| `{name}` | `{getattr(EngineFacts(), name)!r}` | {meaning} |")
    table = PAGE.partition("| fact | default | meaning |\n| --- | --- | --- |\n")[2].partition("\n\n")[0]
    assert table.splitlines() == rows
    assert len(rows) == len(attrs.fields(EngineFacts))


def test_the_call_has_its_arguments() -> None:
    (shown,) = re.findall(r"`conformance\(([^)]*)\)` returns", PAGE)
    named = [name for name in inspect.signature(conformance).parameters if name != "facts"]
    assert [name.lstrip("*") for name in shown.split(", ")] == named


def test_the_example_plays_the_engine_of_the_other_page() -> None:
    backend, facts = _names(PLUGINS, "class LyrebirdCall"), _names(PAGE, "FACTS = EngineFacts(")
    conformance(backend["Lyrebird"], engine=facts["FACTS"]).assert_ok()
    careless = type("Careless", (backend["Lyrebird"],), {"translate_stop": _plain_ends})
    (failure, *_) = conformance(careless, engine=facts["FACTS"], rules=("the-token-limit-is-max-tokens",)).failures
    assert "the stop (reason and sequence) is ('end_turn', None), not ('max_tokens', None)" in failure.sentence


@hookimpl
def _plain_ends(self: object) -> FinishReason:
    return FinishReason()


def _names(page: str, mark: str) -> dict[str, Any]:
    """What the one block of code that has the mark defines."""
    (code,) = [code for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if mark in code]
    found: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), found)
    return found


def test_no_number_of_rules_is_told_that_nothing_holds() -> None:
    for page in (PAGE, PLUGINS, CHANGELOG):
        assert not re.findall(r"\b(?:some )?(?:\d+|ninety|hundred\w*) rules\b", page)
