from __future__ import annotations

import attrs
import pytest

from core import ContentTranslator, Request, Route, UpstreamCall
from core.chat import UpstreamClient
from core.testing import ChunkShape, UpstreamAnswer, UpstreamToolCall, assert_split_invariant
from tests.mutants.reference import DIALECT, Correct, ReadingCall, Steps, edited

CALL = UpstreamToolCall("f", '{"a": 1}', "call_a")
ANSWER = UpstreamAnswer(text="Yes 😀", reasoning="Hm.", tool_calls=(CALL,), choice={"stop_reason": "END"})


class InSteps(Correct):
    """The same, of the parts that are laid open for variation."""

    def content(self, request: Request) -> ContentTranslator:
        return Steps(self.reasoning())

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return ReadingCall(request, route, client, DIALECT)


@pytest.mark.parametrize("backend", [Correct, InSteps])
def test_the_reference_is_correct(backend: type[Correct]) -> None:
    shared = attrs.evolve(ANSWER, reasoning_fields=("reasoning_content", "reasoning"), shape=ChunkShape(shared=True))
    for answer in (ANSWER, shared):
        replies = assert_split_invariant(
            [backend], answer, request={"stop_sequences": ["END"]}, cuts=((7, 200), (333,))
        )
        for reply in replies.values():
            kinds = [
                (block["type"], block.get(block["type"], block.get("input"))) for block in reply.message["content"]
            ]
            assert kinds == [("thinking", "Hm."), ("text", "Yes 😀"), ("tool_use", {"a": 1})]
            assert (reply.message["stop_reason"], reply.message["stop_sequence"]) == ("stop_sequence", "END")
            assert reply.message["usage"] == {"input_tokens": 11, "output_tokens": 7}


def test_an_edited_chunk_is_a_copy() -> None:
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    assert edited(chunk, lambda _: {})["choices"] == [{"index": 0, "delta": {}}]
    assert chunk["choices"] == [{"index": 0, "delta": {"content": "a"}}]
    assert edited({"choices": []}, lambda _: {}) == {"choices": []}
