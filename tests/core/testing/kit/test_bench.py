"""The bench serves an answer in all modes, and tells what is left open."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from core.testing.kit.bench import Bench
from core.testing.kit.facts import EngineFacts
from core.testing.kit.patience import Patience
from tests.core.testing.kit.backends_for_tests import FACTS, Straight


def test_every_mode_whole_and_in_pieces() -> None:
    bench = Bench((Straight,), FACTS)
    played = dict(bench.serve(bench.engine.answer(text="Hi"), bytewise=True))
    assert {place.partition(",")[0] for place in played} == {"client stream", "client JSON"}
    assert "client JSON, upstream stream, byte by byte" in played
    assert all(reply.message["content"] == [{"type": "text", "text": "Hi"}] for reply in played.values())


def test_what_reaches_the_engine() -> None:
    bench = Bench((Straight,), FACTS)
    assert bench.sent({"temperature": 0.5})["temperature"] == 0.5
    assert bench.sent({}, bench.assembly({"extra_body": {"seed": 7}}))["seed"] == 7


def test_plugins_are_loaded_once_for_each_table() -> None:
    bench = Bench((Straight,), FACTS)
    assert bench.assembly() is bench.assembly()
    assert bench.assembly({"max_stops": 2}) is not bench.assembly()


def test_an_answer_that_never_ends_is_told() -> None:
    class Waits(Straight):
        def call(self, *arguments: Any) -> Any:
            return Forever()

    with pytest.raises(AssertionError, match=r"did not end within 0\.05 seconds"):
        Bench((Waits,), FACTS, patience=Patience(0.05)).serve(b"")


class Forever:
    async def __aenter__(self) -> Any:
        await anyio.sleep_forever()

    async def __aexit__(self, *error: object) -> None:
        pass


def test_an_engine_with_two_ways_of_reasoning_is_played_in_both() -> None:
    bench = Bench((Straight,), EngineFacts(tags=("<t>", "</t>")))
    content = {
        place.partition(", in ")[0]: reply.message["content"]
        for place, reply in bench.serve(bench.engine.answer(text="Hi", reasoning="Hm."))
    }
    assert content["client JSON, upstream JSON"][0]["thinking"] == "Hm."
    tagged = content["client JSON, upstream JSON, reasoning between tags"]
    assert tagged == [{"type": "text", "text": "<t>Hm.</t>Hi"}]


def test_bodies_are_seen_in_the_usual_form() -> None:
    facts = EngineFacts(usual_body=lambda body: {**body, "messages": "read"})
    bench = Bench((Straight,), facts)
    assert bench.sent()["messages"] == "read"
    assert {reply.sent["messages"] for _, reply in bench.serve(bench.engine.answer())} == {"read"}
    upstream = bench.upstream(lambda _: [bench.wire(stream=False)])
    bench.ask(upstream)
    assert upstream.asked[0].body["messages"] == "read"


def test_a_refusal_is_the_engines() -> None:
    facts = EngineFacts(rewrite_error=lambda body, status, headers: ({"detail": f"{status}"}, {"retry-after": "9"}))
    for _, reply in Bench((Straight,), facts).refuse({"message": "no"}, 503, {"retry-after": "7"}):
        assert (reply.status, reply.error) == (529, {"type": "overloaded_error", "message": "503"})
        assert reply.headers["retry-after"] == "9"
