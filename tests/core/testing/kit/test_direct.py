"""A backend's own objects, driven by hand."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from core import Request, Route, Stop, Text
from core.chat import Call, UpstreamClient
from core.testing import Assembly
from core.testing.kit.direct import Translators, asking
from core.testing.kit.engine import Engine, piece
from core.testing.kit.facts import EngineFacts
from tests.core.testing.kit.backends_for_tests import Straight


def test_steps_are_kept_apart() -> None:
    translators = Translators(Assembly([Straight]).back(), asking(), Engine(EngineFacts()))
    assert translators.run([piece({"content": "Hi"}), piece({}, "stop")]) == [Text("Hi"), Stop("end_turn")]
    assert translators.steps == [[Text("Hi")], [], [Stop("end_turn")]]
    anyio.run(anyio.sleep, 0)


def test_what_the_call_makes_of_a_chunk_is_what_is_given() -> None:
    class Marks(Straight):
        def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
            return Call(request, route, client, usual=lambda chunk: {**chunk, "seen": [1]})

    translators = Translators(Assembly([Marks]).back(), asking(), Engine(EngineFacts()))
    translators.feed(piece({"content": "Hi"}))
    assert translators.given == translators.before == [{**piece({"content": "Hi"}), "seen": [1]}]
    translators.given[0]["seen"].append(2)
    assert translators.before[0]["seen"] == [1]


def test_what_is_no_list_is_told() -> None:
    class Mute(Straight):
        def content(self) -> object:
            class Nothing:
                def feed(self, chunk: object) -> None: ...
                def flush(self) -> None: ...

            return Nothing()

    with pytest.raises(AssertionError, match="translate_content gave NoneType, not a list of deltas"):
        Translators(Assembly([Mute]).back(), asking(), Engine(EngineFacts())).feed(piece({}))
