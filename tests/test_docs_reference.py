"""What the pages list is what is there: public names, arguments, fields, log fields, addresses, the order of the hooks."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import attrs
import pytest

import core
from core import chat, pipeline, testing
from core.chat import failures
from core.chat.address import chat_url
from core.chat.failures import failure_in
from core.deltas import Stop, Usage
from core.errors import ConfigError, Kind, RequestError, UpstreamError
from core.hook_call import call_hook
from core.record import Missed, Record
from core.request import HTTPRequest, Request
from core.route import Candidate, Route
from core.testing.replay import REQUEST
from core.testing.split import BYTE_BY_BYTE, EVERY_CUT

DOCS = Path(__file__).parents[1] / "docs"
PLUGINS = (DOCS / "plugins.md").read_text()
CONFIGURATION = (DOCS / "configuration.md").read_text()
ORDER = ["parse", "serialize", "route", "translate_content", "translate_stop", "call_upstream"]


def column(text: str, heading: str, number: int = 0) -> str:
    """One column of the table with that first row, as text."""
    assert heading in text, heading
    table = text.partition(heading)[2].partition("\n\n")[0]
    return "\n".join(row.strip("| ").split(" | ")[number] for row in table.splitlines()[1:])


def named_in(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


@pytest.mark.parametrize("module", [chat, testing])
def test_every_public_name_of_the_toolkits_is_on_the_page(module: object) -> None:
    names = vars(module)["__all__"]
    assert names
    assert not [name for name in names if not re.search(rf"`{name}[`(]", PLUGINS)]


@pytest.mark.parametrize("cls", [core.Request, core.Record, core.Traffic, core.Candidate, core.Model, testing.Reply])
def test_the_table_of_a_value_has_its_fields(cls: type[attrs.AttrsInstance]) -> None:
    listed = named_in(column(PLUGINS, f"| field of `{cls.__name__}` | is |"))
    assert sorted(listed) == sorted(field.name for field in attrs.fields(cls))


def test_the_table_of_arguments_is_whole() -> None:
    rows = column(PLUGINS, "| argument of | | is |", 1)
    taken = {
        *inspect.signature(testing.replay).parameters,
        *inspect.signature(testing.assert_split_invariant).parameters,
    }
    assert {*named_in(rows), "plugins", "pieces", "answer"} == taken


def test_what_a_request_is_completed_from_is_shown() -> None:
    assert json.dumps(REQUEST) in PLUGINS


def test_the_numbers_of_cuts_are_shown() -> None:
    assert f"up to {EVERY_CUT} bytes" in PLUGINS
    assert f"up to {BYTE_BY_BYTE:,} bytes" in PLUGINS


@pytest.mark.parametrize("error", [RequestError, UpstreamError, ConfigError])
def test_the_errors_are_made_as_shown(error: type[Exception]) -> None:
    parameters = ", ".join(list(inspect.signature(error).parameters))
    assert f"| `{error.__name__}({parameters})` |" in PLUGINS


def test_every_kind_of_error_is_listed() -> None:
    listed = PLUGINS.partition("`kind` is\none of ")[2].partition(";")[0]
    assert tuple(named_in(listed)) == get_args(Kind)


def test_the_fields_of_the_log_are_the_record_s() -> None:
    error = RequestError("no")
    error.__cause__ = OSError("gone")
    record = Record(
        HTTPRequest("POST", "/v1/messages"),
        request=Request("message"),
        route=Route((Candidate("b", "m"),)),
        accepted=1.0,
        first_delta=1.0,
        first=1.0,
        usage=Usage(1, 1),
        stop=Stop("end_turn"),
        error=error,
        left=True,
        trace_id="4b",
        key="alice",
        attempts=[Missed("a", "cooling", "cooling down")],
    )
    assert sorted(named_in(column(CONFIGURATION, "| field | is |"))) == sorted(record.fields())


def test_the_addresses_that_are_called_are_as_shown() -> None:
    written = re.findall(r"`(\S+)`", column(CONFIGURATION, "| `url` | is called at |"))
    called = re.findall(r"`(\S+)`", column(CONFIGURATION, "| `url` | is called at |", 1))
    assert written
    assert [str(chat_url(url)) for url in written] == called


@pytest.mark.parametrize("page", ["plugins.md", "architecture.md"])
def test_the_order_of_the_hooks_is_told(page: str) -> None:
    text = (DOCS / page).read_text()
    told = re.search(r"in (?:another|this) order:(.*?)\.\s", text, re.DOTALL)
    assert told
    assert named_in(told[1]) == ORDER


@pytest.mark.anyio
async def test_the_order_of_the_hooks_is_the_gateway_s(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = testing.Assembly(["openai"])
    called: list[str] = []

    def call(manager: Any, hook: str, *rest: Any) -> Any:
        called.append(hook)
        return call_hook(manager, hook, *rest)

    monkeypatch.setattr(pipeline, "call_hook", call)
    async with testing.replayer(assembly) as player:
        called.clear()
        await player.play([testing.UpstreamAnswer().json()])
    assert [hook for hook in called if hook in ORDER] == ORDER


WORDS = re.findall(
    r"^\| (`[^|]*) \| (.*) \|$", PLUGINS.partition("| word | the client gets |")[2].partition("\n\n")[0], re.MULTILINE
)


@pytest.mark.parametrize(("words", "gets"), WORDS)
def test_the_words_of_an_error_have_the_meaning_that_is_told(words: str, gets: str) -> None:
    for word in re.findall(r"`(\w+)`", words):
        error = failure_in({}, problem=lambda *_, word=word: chat.Problem("no", word))
        assert error is not None
        assert str(error.status) == gets[:3]
        assert error.message.startswith("prompt is too long: ") is ("too long" in gets)
        if "not to be tried again" in gets and ("last one" not in gets or word == "insufficient_quota"):
            assert error.should_retry is False


def test_every_word_that_has_a_meaning_is_told() -> None:
    known = {word for word, _ in failures._WORDS} | {*failures._FAILED}
    assert known == {word for words, _ in WORDS for word in re.findall(r"`(\w+)`", words)}
