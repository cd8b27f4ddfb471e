from __future__ import annotations

import pytest

from core.testing import (
    Assembly,
    BrokenAnswer,
    ChunkShape,
    Mode,
    UpstreamAnswer,
    UpstreamToolCall,
    assert_split_invariant,
)
from core.testing.split import BYTE_BY_BYTE, EVERY_CUT, cut, cuttings
from tests.core.testing.plugins_for_tests import EmptyText, LosesChunks, Plain, RenamesCalls, ShoutsInStreams

ANSWER = UpstreamAnswer(text="Hello 😀", shape=ChunkShape(piece=2))
CALLS = UpstreamAnswer(tool_calls=(UpstreamToolCall("f", "{}", "call_a"), UpstreamToolCall("f", "{}", None)))
CUTS = ((40, 41, 300), (900,))


def test_a_sound_backend_passes_and_gives_its_replies() -> None:
    replies = assert_split_invariant([Plain], ANSWER)
    assert {str(mode) for mode in replies} == {
        "client stream, upstream stream",
        "client JSON, upstream stream",
        "client stream, upstream JSON",
        "client JSON, upstream JSON",
    }
    assert {reply.message["content"][0]["text"] for reply in replies.values()} == {"Hello 😀"}


def test_ids_made_here_may_differ() -> None:
    replies = assert_split_invariant(Assembly([Plain]), CALLS, cuts=CUTS)
    ids = {reply.message["content"][2]["id"] for reply in replies.values()}
    assert len(ids) == 4


def test_bytes_come_in_both_upstream_modes() -> None:
    for wire in (ANSWER.sse(), ANSWER.json()):
        replies = assert_split_invariant([Plain], wire, cuts=CUTS)
        assert replies[Mode(client=False, upstream=False)].message["content"][0]["text"] == "Hello 😀"


@pytest.mark.parametrize(
    "broken",
    [
        BrokenAnswer.cut_off(ANSWER, 0.6),
        BrokenAnswer.with_error(ANSWER, {"message": "broke"}),
        BrokenAnswer.refused(ANSWER, 503, b"busy", "text/plain"),
    ],
)
def test_a_broken_answer_passes_as_an_error(broken: BrokenAnswer) -> None:
    replies = assert_split_invariant([Plain], broken, cuts=CUTS)
    assert all(reply.error for reply in replies.values())


def test_an_answer_that_depends_on_the_cutting_is_found() -> None:
    with pytest.raises(
        AssertionError, match="client stream, upstream stream: cut byte by byte changes the answer"
    ) as e:
        assert_split_invariant([LosesChunks], ANSWER, cuts=CUTS)
    assert '+    "text": "Hello 😀"' in str(e.value)


def test_an_answer_that_depends_on_the_mode_is_found() -> None:
    with pytest.raises(AssertionError, match="two modes give different answers") as caught:
        assert_split_invariant([ShoutsInStreams], ANSWER, cuts=CUTS)
    assert '-    "text": "HELLO 😀"' in str(caught.value)


def test_a_lost_tool_id_is_found() -> None:
    with pytest.raises(AssertionError, match=r"tool ids \['call_a'\] did not arrive"):
        assert_split_invariant([RenamesCalls], CALLS, cuts=CUTS)


def test_an_id_of_an_earlier_turn_need_not_arrive() -> None:
    call = {"type": "tool_use", "id": "call_a", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "call_a", "content": "ok"}
    turns = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    for reply in assert_split_invariant([Plain], CALLS, request={"messages": turns}, cuts=CUTS).values():
        assert "call_a" not in {block.get("id") for block in reply.message["content"]}


def test_a_breach_of_the_protocol_is_found() -> None:
    with pytest.raises(AssertionError, match="a text block without text"):
        assert_split_invariant([EmptyText], ANSWER, cuts=CUTS)


def test_a_request_that_reaches_no_upstream_is_no_success() -> None:
    with pytest.raises(AssertionError, match="the request never reached the upstream"):
        assert_split_invariant([Plain], ANSWER, request={"max_tokens": -1})


def test_cuttings() -> None:
    assert list(cuttings(4, None)) == [[1, 2, 3], [1], [2], [3]]
    assert list(cuttings(4, [(9, 2, 4)])) == [[1, 2, 3], [1, 2]]
    assert list(cuttings(1, None)) == []
    long = list(cuttings(10 * BYTE_BY_BYTE, None))
    assert BYTE_BY_BYTE <= len(long[0]) < 2 * BYTE_BY_BYTE
    assert EVERY_CUT <= len(long) <= 2 * EVERY_CUT


def test_cut() -> None:
    assert cut(b"abcdef", [1, 4]) == [b"a", b"bcd", b"ef"]
    assert cut(b"abc", []) == [b"abc"]
