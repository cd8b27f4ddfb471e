from __future__ import annotations

from typing import Any

import pytest

from core import HTTPRequest, Stop, Text, UpstreamError
from core.trace.objects import TracedAnswer, TracedContent, TracedStop, Wire
from core.trace.words import Step
from tests.core.fakes import Ends, TextAnswer, Words


class Told(list[Step]):
    """Keeps the steps."""

    def __call__(self, step: Step) -> None:
        self.append(step)

    @property
    def lines(self) -> list[str]:
        return [f"{step.stage} {step.who}: {step.what}" for step in self]


@pytest.fixture
def told() -> Told:
    return Told()


def test_content_tells_the_chunk_once_and_what_each_made_of_it(told: Told) -> None:
    inner = TracedContent(inner=Words(), hook="content", who="engine", tell=told)
    outer = TracedContent(inner=inner, hook="content", who="wrapper", tell=told, inside=inner)
    assert outer.feed({"text": "a~b"}) == [Text("a")]
    assert outer.flush() == [Text("b")]
    assert told.lines == [
        'chunk : {"text":"a~b"}',
        "content engine: Text(text='a')",
        "content wrapper: Text(text='a') (as given)",
        "content.flush engine: Text(text='b')",
        "content.flush wrapper: Text(text='b') (as given)",
    ]


def test_stop_tells_what_it_was_given(told: Told) -> None:
    traced = TracedStop(inner=Ends(), hook="stop", who="engine", tell=told)
    assert traced.feed({"now": True}, [Text("a")]) == [Text("a"), Stop("stop_sequence", "now")]
    assert traced.feed({"end": True}, []) == []
    assert traced.flush() == [Stop("end_turn")]
    assert told.lines == [
        "stop engine: Text(text='a') -> Text(text='a'), Stop(reason='stop_sequence', sequence='now')",
        "stop engine: nothing",
        "stop.flush engine: Stop(reason='end_turn')",
    ]


def test_a_writer_tells_its_bytes(told: Told) -> None:
    http = HTTPRequest("POST", "/say")
    inner = TracedAnswer(inner=TextAnswer(http, stream=True), hook="serialize", who="front", tell=told)
    traced = TracedAnswer(inner=inner, hook="serialize", who="wrapper", tell=told, inside=inner)
    assert (traced.status, traced.headers) == (200, ((b"x-kind", b"answer"),))
    assert traced.feed([Text("a🦜")]) == "a🦜".encode()
    assert traced.ping() == b"."
    assert traced.feed([Stop("end_turn")]) == b""
    assert traced.finish() == b"<end_turn>"
    assert traced.fail(UpstreamError("no")) == b"!api: no"
    assert told.lines == [
        "serialize front: 'a🦜'",
        "serialize wrapper: 5 bytes (as given)",
        "serialize.ping front: '.'",
        "serialize.ping wrapper: 1 bytes (as given)",
        "serialize front: nothing yet",
        "serialize wrapper: nothing yet",
        "serialize.finish front: '<end_turn>'",
        "serialize.finish wrapper: 10 bytes (as given)",
        "serialize.fail front: '!api: no'",
        "serialize.fail wrapper: 8 bytes (as given)",
    ]


def test_faults_and_wrong_types_are_told_and_pass(told: Told) -> None:
    class Broken:
        kind = "broken"

        def feed(self, *_: Any) -> Any:
            raise ValueError("no")

        def finish(self) -> Any:
            return "text"

    wrong: Any = Broken()
    content = TracedContent(inner=wrong, hook="content", who="engine", tell=told)
    with pytest.raises(ValueError, match="no"):
        content.feed({})
    answer = TracedAnswer(inner=wrong, hook="serialize", who="front", tell=told)
    odd: Any = answer.finish()
    assert odd == "text"
    assert (content.kind, answer.kind) == ("broken", "broken")
    assert told.lines[1:] == ["content engine: !! raised ValueError: no", "serialize.finish front: !! str: 'text'"]


def test_the_wire_is_told(told: Told) -> None:
    wire = Wire(told)
    wire.sent(b'{"a": 1}')
    wire.answered(200, {"content-type": "text/event-stream"})
    wire.read(b"data: \xf0\n")
    for how in ("", "closed", "ReadError: gone"):
        wire.ended(how)
    assert told.lines == [
        'sent : {"a": 1}',
        "answered : 200 text/event-stream",
        "read : 8 bytes: 'data: \\\\xf0\\n'",
        "ended : the upstream ended its answer",
        "ended : closed by the gateway",
        "ended : ReadError: gone",
    ]
