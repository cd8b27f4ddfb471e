from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import attrs
import pytest

from core import Secret, hookimpl
from core.cli.installed import InstalledPlugin
from core.cli.plugins import plugins_text, words_of
from core.config.options import whole_table
from core.config.schema import type_schema
from core.contract import served


@attrs.frozen(eq=False)
class Engine:
    """An engine."""

    contract: ClassVar[int] = 1
    wraps: ClassVar[Any] = ("stop_scan", ("think_tags", {"opened": True, "pairs": (("<t>", "</t>"),)}))

    needed: int
    word: str = attrs.field(default="grey", metadata={"help": "the bird"})
    mode: Literal["a", "b"] = "a"
    key: Secret = attrs.field(default=Secret("hunter2"))
    token: Secret | None = None
    own: int = attrs.field(init=False, default=1)

    @hookimpl
    def call_upstream(self) -> Any:
        """Nothing."""


@attrs.frozen(eq=False)
class Table:
    rows: Mapping[str, int] = whole_table()


class Odd:
    contract = "x"


PLUGINS = [
    InstalledPlugin("zebra", "dist 1", fault="fails to import: ImportError: no"),
    InstalledPlugin(
        "engine",
        "dist 1",
        Engine,
        hooks=(("translate_stop", True), ("translate_content", False), ("call_upstream", False)),
    ),
    InstalledPlugin("table", "dist 2", Table, hooks=(("parse", False), ("unknown", False))),
    InstalledPlugin("odd", "dist 3", Odd, "contract is not a whole number: 'x'"),
]
TEXT = f"""\
hookline serves {served()}

table  front of dist 2, contract 1
  answers  parse, unknown
  options  a whole table: table of integer

engine  backend of dist 1, contract 1
  An engine.
  answers  call_upstream, translate_content
  wraps    translate_stop
  brings   stop_scan, think_tags (opened = true, pairs = [["<t>", "</t>"]])
  option   needed: integer, needed
  option   word: string = "grey"  # the bird
  option   mode: "a" or "b" = "a"
  option   key: secret = ***
  option   token: secret

odd  other of dist 3, contract ?
  cannot be used: contract is not a whole number: 'x'

zebra  broken of dist 1
  cannot be used: fails to import: ImportError: no"""


def test_the_list_tells_all_and_no_secret() -> None:
    assert plugins_text(PLUGINS) == TEXT


@attrs.frozen
class Row:
    one: int
    two: str = ""


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (int | str, "integer or string"),
        (str | Row, "string or table with one, two"),
        (tuple[str, ...], "list of string"),
        (list, "list"),
        (Mapping[str, Any], "table"),
        (Mapping[str, Row], "table of table with one, two"),
        (Any, "anything"),
    ],
)
def test_types_in_words(cls: Any, words: str) -> None:
    assert words_of(type_schema(cls)) == words
