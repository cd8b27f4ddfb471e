from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Request, Stop, Text, Thinking
from core.trace.words import (
    Step,
    call_in_words,
    deltas_in_words,
    in_repr,
    json_in_words,
    line_of,
    passed,
    value_in_words,
)


@attrs.frozen
class Call:
    request: Request
    client: str = "c"
    stream: bool | None = None
    _hidden: int = 5


CALL = Call(Request("message", temperature=1.0))


def test_a_line_has_stage_plugin_and_what_cut_to_its_width() -> None:
    step = Step("parse", "anthropic", "x" * 400)
    assert line_of(step) == f"parse                   anthropic   {'x' * 300}…"
    assert line_of(step, 0).endswith("x" * 400)
    assert line_of(Step("chunk", "", "{}")) == "chunk                               {}"


@pytest.mark.parametrize(
    ("deltas", "words"),
    [
        ([], "nothing"),
        ([Thinking("a"), Text("b")], "Thinking(text='a'), Text(text='b')"),
        (None, "!! NoneType: None"),
        ("ab", "!! str: 'ab'"),
        ([5], "5"),
    ],
)
def test_deltas_and_what_is_none(deltas: Any, words: str) -> None:
    assert deltas_in_words(deltas) == words


def test_what_became_of_deltas() -> None:
    assert passed([], []) == "nothing"
    assert passed([Text("a")], (Text("a"),)) == "Text(text='a') (as given)"
    assert passed([Text("a")], []) == "Text(text='a') -> nothing"
    assert passed([Text("a")], [Stop("end_turn")]) == "Text(text='a') -> Stop(reason='end_turn')"
    assert passed([Text("a")], None) == "Text(text='a') -> !! NoneType: None"


def test_a_value_shows_what_says_something() -> None:
    assert value_in_words(Request("message", model="m", stream=True)) == (
        "Request(task='message', model='m', stream=True)"
    )
    assert json_in_words({"a": 1}) == '{"a":1}'
    assert json_in_words({"a": {1}}) == "{'a': {1}}"


@pytest.mark.parametrize(
    ("call", "before", "words"),
    [
        (CALL, None, "Call(stream=None)"),
        (CALL, "another", "Call(stream=None)"),
        (CALL, CALL, "as given"),
        (attrs.evolve(CALL, stream=True), CALL, "stream: None -> True"),
        (attrs.evolve(CALL, client="d"), CALL, "client: another one"),
        (Call(Request("message", temperature=0.0)), CALL, "request.temperature: 1.0 -> 0.0"),
        (object(), object(), "object()"),
    ],
)
def test_a_call_and_what_a_wrapper_changed_in_it(call: object, before: object, words: str) -> None:
    assert call_in_words(call, before) == words


def test_what_has_no_repr_breaks_no_trace() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    odd = "<Odd, whose repr raises RuntimeError>"
    assert in_repr(Odd()) == odd
    assert deltas_in_words([Odd()]) == odd
    assert deltas_in_words(Odd()) == f"!! Odd: {odd}"
