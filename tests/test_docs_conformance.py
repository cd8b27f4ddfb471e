"""docs/conformance.md has every rule and every fact, in the words of the code."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Final

import attrs

from core.testing import EngineFacts, conformance
from core.testing.kit.catalogue import GROUPS

PAGE: Final = (Path(__file__).parents[1] / "docs" / "conformance.md").read_text()


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
