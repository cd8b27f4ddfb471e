from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest
from jsonschema import Draft202012Validator

from core.cli.installed import InstalledPlugin, installed_plugins
from core.cli.schema import schema_of
from core.config.schema import Schema

ROOT = Path(__file__).parents[3]
PIPELINE = '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models"]\n'
BACKEND = '[backends.b]\nplugins = ["vllm"]\nurl = "http://h/v1"\n'


@pytest.fixture(scope="module")
def schema() -> Schema:
    made = schema_of(installed_plugins())
    Draft202012Validator.check_schema(made)
    return made


def faults(schema: Schema, text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(tomllib.loads(text))]


def uncommented(text: str) -> str:
    """The file with its commented examples put in force, as one table each."""
    lines = [re.sub(r"^# ?(?=\[|\"|[\w]+ = )", "", line) for line in text.splitlines()]
    seen_models = False
    out = []
    for line in lines:
        if line.startswith("[models]"):
            if seen_models:
                continue
            seen_models = True
        out.append(line)
    return "\n".join(out)


def test_the_shipped_file_and_the_documented_ones_are_valid(schema: Schema) -> None:
    files = [ROOT / "pipelines.toml"]
    for file in files:
        assert faults(schema, file.read_text()) == []
    page = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    whole = [block for block in blocks if "[pipelines." in block and "[backends." in block]
    assert whole
    for block in whole:
        assert faults(schema, block) == []


GOOD = [
    PIPELINE + BACKEND,
    PIPELINE + BACKEND + 'key = { env = "K" }\nheaders = { a = "b", c = { env = "D" } }\nquery = { v = "1" }',
    PIPELINE + BACKEND + "read_timeout = 5\nmax_stops = 16\nefforts = []\nstop = false\nthinking_on = {}",
    PIPELINE
    + BACKEND
    + 'extra_body = { a = { b = [1] } }\nproxy = "http://p"\nca = "x.pem"\nstream = "never"\nwraps = []',
    PIPELINE + BACKEND.replace('"vllm"', '"vllm", "my.own:Wrapper"') + '[backends.b."my.own:Wrapper"]\nx = 1',
    PIPELINE.replace('"models"', '"models", "m:C"') + '["m:C"]\nx = 1\n[pipelines.p."m:C"]\ny = 2\n' + BACKEND,
    PIPELINE + "[pipelines.p.anthropic]\ncache_usage = true\n[anthropic]\nseal_key = { env = 'S' }\n" + BACKEND,
    PIPELINE + BACKEND + '[models]\n"x" = { backend = "b" }\n"y*" = { backend = "b", context = 9, list = true }',
    PIPELINE
    + BACKEND
    + '[models]\n"x" = [{ backend = "b", weight = 3 }, { backend = "b", model = "y", priority = 1 }]',
    PIPELINE + BACKEND + "max_concurrent = 4\nmax_queue = 0\nqueue_timeout = 2.5",
    PIPELINE + '[backends.d]\nplugins = ["demo"]\n[backends.d.demo]\ndelay = 1\n',
    PIPELINE.replace('"models"', '"models", "capture"') + '[capture]\ndirectory = "x"\nkeep = 3\n' + BACKEND,
]
BAD = [
    "",
    PIPELINE,
    BACKEND,
    "[pipelines]\n[backends]\n",
    PIPELINE.replace("paths", "path") + BACKEND,
    PIPELINE.replace('["/v1"]', '"/v1"') + BACKEND,
    PIPELINE.replace('"/v1"', '"v1"') + BACKEND,
    PIPELINE.replace('["/v1"]', "[]") + BACKEND,
    PIPELINE.replace('"anthropic"', '"antropic"') + BACKEND,
    PIPELINE.replace('"anthropic"', '"models"') + BACKEND,
    PIPELINE + BACKEND.replace('"vllm"', '"vlm"'),
    PIPELINE + BACKEND.replace('["vllm"]', "[]"),
    PIPELINE + BACKEND.replace("http://h", "h"),
    PIPELINE + BACKEND + "ulr = 1",
    PIPELINE + BACKEND + "key = 5",
    PIPELINE + BACKEND + 'key = { evn = "K" }',
    PIPELINE + BACKEND + "read_timeout = 0",
    PIPELINE + BACKEND + 'read_timeout = "5"',
    PIPELINE + BACKEND + 'stream = "sometimes"',
    PIPELINE + BACKEND + "max_stops = 'four'",
    PIPELINE + BACKEND + 'late_system = "drop"',
    PIPELINE + BACKEND + 'wraps = ["nope"]',
    PIPELINE + BACKEND + "[model]\n",
    PIPELINE + BACKEND + '[models]\n"x" = "b"',
    PIPELINE + BACKEND + '[models]\n"x" = { model = "b" }',
    PIPELINE + BACKEND + '[models]\n"x" = { backend = "b", context = 0 }',
    PIPELINE + BACKEND + '[models]\n"x" = { backend = "b", modle = "y" }',
    PIPELINE + BACKEND + '[models]\n"x" = [{ backend = "b", weight = 0 }]',
    PIPELINE + BACKEND + '[models]\n"x" = [{ backend = "b", priority = -1 }]',
    PIPELINE + BACKEND + '[models]\n"x" = ["b"]',
    PIPELINE + BACKEND + "max_concurrent = -1",
    PIPELINE + BACKEND + "max_queue = 1.5",
    PIPELINE + BACKEND + "queue_timeout = 0",
    PIPELINE + BACKEND + "[anthropic]\ncache_usage = 1",
    PIPELINE + '[backends.d]\nplugins = ["demo"]\n[backends.d.demo]\ndelay = "1"\n',
    PIPELINE + "[vllm]\nx = 1\n" + BACKEND,
]


@pytest.mark.parametrize("text", GOOD)
def test_valid_files_are_valid(schema: Schema, text: str) -> None:
    assert faults(schema, text) == []


@pytest.mark.parametrize("text", BAD)
def test_wrong_files_are_not(schema: Schema, text: str) -> None:
    assert faults(schema, text)


def test_the_examples_in_the_shipped_file_are_valid_when_put_in_force(schema: Schema) -> None:
    text = (ROOT / "pipelines.toml").read_text()
    tables = [part for part in re.split(r"\n(?=# ---)", text)[1:] if "# [backends." in part]
    assert tables
    for part in tables:
        assert faults(schema, PIPELINE + uncommented(part)) == []


def test_every_key_is_described_and_secrets_are_marked(schema: Schema) -> None:
    for name in ("pipeline", "backend"):
        keys = schema["$defs"][name]["properties"]
        assert [key for key, of in keys.items() if not of.get("description")] == []
    backend = schema["$defs"]["backend"]["properties"]
    assert (backend["key"]["x-secret"], backend["proxy"]["writeOnly"]) == (True, True)
    assert backend["headers"]["additionalProperties"]["x-secret"]
    assert schema["properties"]["anthropic"]["properties"]["seal_key"]["x-secret"]


def test_a_plugin_that_cannot_be_imported_may_have_any_table() -> None:
    made: Any = schema_of([InstalledPlugin("broken", "dist 1", fault="fails to import")])
    assert made["properties"]["broken"] == {"type": "object"}


@attrs.frozen
class Strict:
    level: int
    word: str


class Brings:
    wraps = (("strict", {"level": 1}),)


@pytest.mark.parametrize(("plugins", "faulty"), [((), True), ((InstalledPlugin("brings", "dist 1", Brings),), False)])
def test_an_option_that_a_plugin_gives_its_wrapper_need_not_be_given(
    plugins: tuple[InstalledPlugin, ...], faulty: bool
) -> None:
    made = schema_of([InstalledPlugin("strict", "dist 1", Strict), *plugins])
    table = f'{PIPELINE}[backends.b]\nplugins = ["strict"]\n[backends.b.strict]\n'.replace(
        '"anthropic", "models"', '"strict"'
    )
    assert bool(faults(made, f'{table}word = "x"')) is faulty
    assert faults(made, f"{table}level = 1")
