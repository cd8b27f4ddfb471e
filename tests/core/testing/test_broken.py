from __future__ import annotations

import json

import pytest

from core.testing import BrokenAnswer, ChunkShape, UpstreamAnswer, error_bodies

ANSWER = UpstreamAnswer(text="abcdef", shape=ChunkShape(piece=2, role="none"))


def text(broken: BrokenAnswer) -> str:
    return "".join(choice["delta"].get("content", "") for chunk in broken.chunks() for choice in chunk["choices"])


def test_refused_is_the_given_body_in_both_forms() -> None:
    broken = BrokenAnswer.refused(ANSWER, 429, b"slow down", "text/plain")
    assert broken.wire(stream=True) == broken.wire(stream=False) == b"slow down"
    assert (broken.status, broken.chunks()) == (429, [])


def test_with_error_keeps_the_content_before_it() -> None:
    broken = BrokenAnswer.with_error(ANSWER, "broke")
    assert json.loads(broken.wire(stream=False)) == {"error": "broke"}
    assert b'data: {"error":"broke"}' in broken.wire(stream=True)
    assert text(broken) == "abcdef"


@pytest.mark.parametrize("reach", [0.0, 0.3, 0.7, 0.999])
def test_cut_off_never_reaches_the_end(reach: float) -> None:
    broken = BrokenAnswer.cut_off(ANSWER, reach)
    stream = broken.wire(stream=True)
    assert ANSWER.sse().startswith(stream)
    assert b'"finish_reason":"stop"' not in stream
    with pytest.raises(ValueError):
        json.loads(broken.wire(stream=False))


def test_cut_off_counts_the_chunks_that_arrive_whole() -> None:
    assert text(BrokenAnswer.cut_off(ANSWER, 0.0)) == ""
    assert text(BrokenAnswer.cut_off(ANSWER, 0.5)) == "ab"
    assert text(BrokenAnswer.cut_off(ANSWER, 0.999)) == "abcdef"


def test_without_a_finish_reason_only_done_is_missing() -> None:
    answer = UpstreamAnswer(text="ab", finish_reason=None)
    assert BrokenAnswer.cut_off(answer, 0.9999).wire(stream=True) == answer.sse().removesuffix(b"data: [DONE]\n\n")


def test_every_error_body_but_the_last_says_the_words() -> None:
    bodies = error_bodies("no room", 503)
    assert len({body for body, _ in bodies}) == len(bodies) == 11
    assert all(b"no room" in body for body, _ in bodies[:-1])
    assert bodies[-1][0] == b""
    for body, content_type in bodies:
        assert content_type != "application/json" or json.loads(body)
