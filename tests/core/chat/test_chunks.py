from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.chunks import BODY_LIMIT, ChunkReader
from core.chat.completion import Chunk, one_chunk, the_choice, the_delta
from core.chat.problems import ProblemField
from core.errors import UpstreamError

SAY_A = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}
WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}
AS_CHUNK = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}


def sse(*items: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % (i.encode() if isinstance(i, str) else json.dumps(i).encode()) for i in items)


def read(pieces: bytes | Iterable[bytes]) -> tuple[list[dict[str, Any]], ChunkReader]:
    reader = ChunkReader()
    chunks = [chunk for piece in ([pieces] if isinstance(pieces, bytes) else pieces) for chunk in reader.feed(piece)]
    return chunks + reader.flush(), reader


def failed(reader: ChunkReader) -> UpstreamError:
    assert reader.error is not None
    return reader.error


# --- stream or body ---


@pytest.mark.parametrize("lead", [b"", b"\n\n", b"\r\n \t\r\n", b"\xef\xbb\xbf", b"\n\xef\xbb\xbf\n"])
def test_stream_and_body_are_told_apart_by_the_bytes_alone(lead: bytes) -> None:
    for wire, expected in ((lead + sse(SAY_A, END), [SAY_A, END]), (lead + json.dumps(WHOLE).encode(), [AS_CHUNK])):
        for pieces in ([wire], [bytes([byte]) for byte in wire]):
            chunks, reader = read(pieces)
            assert (chunks, reader.error) == (expected, None)


@given(st.lists(st.integers(0, 500), max_size=6))
def test_cuts_change_nothing(places: list[int]) -> None:
    for wire in (sse(SAY_A, "null", {**SAY_A, "x": "é👍"}, END, USAGE, "[DONE]"), json.dumps(WHOLE, indent=1).encode()):
        edges = [0, *sorted(place % (len(wire) + 1) for place in places), len(wire)]
        chunks, reader = read([wire[a:b] for a, b in pairwise(edges)])
        assert (chunks, reader.done, reader.error) == (read(wire)[0], True, None)


@pytest.mark.parametrize("wire", [b"", b"\n\n", b"\xef", b"\xef\xbb\xbf", b": comment\n\n", b"Internal Server Error"])
def test_nothing_is_neither_a_chunk_nor_an_end(wire: bytes) -> None:
    chunks, reader = read(wire)
    assert (chunks, reader.done, reader.finished, reader.error) == ([], False, False, None)


# --- the stream ---


def test_done_ends_the_stream_and_what_follows_it_is_ignored() -> None:
    chunks, reader = read(sse(SAY_A, END, USAGE, "[DONE]", SAY_A, {"error": "late"}))
    assert chunks == [SAY_A, END, USAGE]
    assert (reader.done, reader.finished, reader.error) == (True, True, None)
    assert reader.feed(sse(SAY_A)) == []


@pytest.mark.parametrize("done", ["[DONE]", "[DONE] ", " [DONE]"])
def test_done_without_a_reason_is_a_plain_end(done: str) -> None:
    chunks, reader = read(sse(SAY_A, done))
    assert chunks == [SAY_A, END]
    assert reader.done


def test_a_stream_without_done_or_reason_is_not_finished() -> None:
    assert read(sse(SAY_A))[1].finished is False
    chunks, reader = read(sse(SAY_A, END))
    assert (chunks, reader.finished, reader.done) == ([SAY_A, END], True, False)


def test_null_and_empty_events_are_keep_alives() -> None:
    wire = b"data: null\n\ndata:\n\ndata: \n\ndata\n\n: ping\n\n" + sse(SAY_A) + b"data:  \n\n" + sse(END)
    assert read(wire)[0] == [SAY_A, END]


def test_the_last_event_needs_no_blank_line() -> None:
    assert read(sse(SAY_A, END).rstrip(b"\n"))[0] == [SAY_A, END]
    assert read(sse(SAY_A, "[DONE]").rstrip(b"\n"))[1].done


def test_side_events_of_other_names_do_no_harm() -> None:
    wire = b'event: sglext_ids\ndata: [{"a": 1}]\n\nevent: ping\ndata: 7\n\nevent: log\ndata: not json\n\n'
    chunks, reader = read(wire + sse(SAY_A))
    assert (chunks, reader.error) == ([SAY_A], None)


def test_chunks_under_any_event_name_are_read() -> None:
    wire = b"event: chat.completion.chunk\n" + sse(SAY_A) + b"event: message\n" + sse(END)
    assert read(wire)[0] == [SAY_A, END]


def test_a_whole_completion_may_be_the_only_event() -> None:
    for items in ((WHOLE,), (WHOLE, "[DONE]")):
        chunks, reader = read(sse(*items))
        assert (chunks, reader.finished) == ([AS_CHUNK], True)


def test_a_whole_message_behind_its_own_pieces_is_not_taken_twice() -> None:
    chunks, reader = read(sse(SAY_A, WHOLE))
    assert the_delta(the_choice(chunks[1])) == {}
    assert reader.finished


def test_surrogate_halves_are_no_broken_json() -> None:
    chunks, reader = read(b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n')
    assert (the_delta(the_choice(chunks[0]))["content"], reader.error) == ("\ud83d", None)


# --- errors ---

ERRORS = [
    ({"error": {"message": "words", "type": "server_error", "code": 500}}, 500),
    ({"error": {"message": "words", "code": None}}, 502),
    ({"error": "words"}, 502),
    ({"error": {"object": "error", "message": "words", "type": "BadRequestError", "code": 400}}, 400),
    ({"object": "error", "message": "words", "type": "RateLimitError", "param": None, "code": 429}, 429),
    ({"error": {"message": "words", "http_status_code": 422}}, 400),
    ({"detail": "words"}, 502),
    ({"detail": [{"loc": ["body"], "msg": "words"}]}, 502),
    ([{"error": {"code": 503, "message": "words", "status": "UNAVAILABLE"}}], 529),
    ({"message": "words", "code": 404}, 404),
    ({"message": "words", "type": "overloaded_error"}, 529),
    ({"error": {"message": "words", "code": 429}, "choices": [{"delta": {}, "finish_reason": "error"}]}, 429),
    ({"choices": [{"delta": {"content": "b"}, "finish_reason": "error", "error": {"message": "words"}}]}, 502),
]


@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_in_a_stream_comes_after_the_chunks_before_it(error: Any, status: int) -> None:
    reader = ChunkReader()
    assert reader.feed(sse(SAY_A, error, SAY_A, "[DONE]")) == [SAY_A]
    assert (failed(reader).message, failed(reader).status, reader.done) == ("words", status, False)
    assert reader.feed(sse(SAY_A)) == reader.flush() == []


@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_as_the_body_of_a_200(error: Any, status: int) -> None:
    chunks, reader = read(json.dumps(error).encode())
    assert (chunks, failed(reader).message, failed(reader).status) == ([], "words", status)


@pytest.mark.parametrize("data", [b"words", b'"words"', b'{"message": "words"}', b'{"error": "words"}', b'["words"]'])
def test_an_error_event_of_a_proxy(data: bytes) -> None:
    chunks, reader = read(sse(SAY_A) + b"event: error\ndata: " + data + b"\n\n")
    assert (chunks, failed(reader).message) == ([SAY_A], "words")


@pytest.mark.parametrize("data", [b"null", b"", b"{}"])
def test_an_error_event_without_words(data: bytes) -> None:
    assert "without a word" in failed(read(b"event: error\ndata: " + data + b"\n\n")[1]).message


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_a_finish_reason_that_means_failure(reason: str) -> None:
    choice = {"message": {"role": "assistant", "content": "half of it"}, "finish_reason": reason}
    for wire in (
        json.dumps({"choices": [choice]}).encode(),
        sse({"choices": [{"delta": {}, "finish_reason": reason}]}),
    ):
        chunks, reader = read(wire)
        assert chunks == []
        assert failed(reader).message == f"the upstream broke off its answer ({reason})"


def test_no_secret_gets_out_by_an_error_in_the_stream() -> None:
    for error in ({"error": "bad key sesame-open at http://10.0.0.5:8000"}, "event"):
        reader = ChunkReader(hide=["sesame-open", "http://10.0.0.5:8000"])
        reader.feed(sse(error) if error != "event" else b"event: error\ndata: key sesame-open http://10.0.0.5:8000\n\n")
        assert "sesame" not in failed(reader).message
        assert "10.0.0.5" not in failed(reader).message


@pytest.mark.parametrize(
    "wire", [json.dumps(WHOLE)[:-1], json.dumps(WHOLE)[:20], "<html>busy</html>", "{}x", "[" * 9999]
)
def test_half_a_body_is_an_error(wire: str) -> None:
    chunks, reader = read(wire.encode())
    assert (chunks, failed(reader).status) == ([], 502)
    assert "not JSON, or was cut off" in failed(reader).message


def test_half_an_event_is_an_error_unless_the_answer_was_finished() -> None:
    chunks, reader = read(sse(SAY_A, END, USAGE)[:-10])
    assert (chunks, reader.error) == ([SAY_A, END], None)
    chunks, reader = read(sse(SAY_A, END)[:-10])
    assert (chunks, failed(reader).message) == ([SAY_A], "the upstream's answer was cut off")
    chunks, reader = read(sse(SAY_A, "{nope", END))
    assert (chunks, failed(reader).message) == ([SAY_A], "the upstream sent an event that is not JSON")


@pytest.mark.parametrize("value", ["7", '"text"', "true", "[]", "[1]"])
def test_an_event_that_is_no_object_is_an_error(value: str) -> None:
    assert "not a JSON object" in failed(read(sse(value))[1]).message


@pytest.mark.parametrize(
    "body", ["{}", "[]", '"text"', '{"choices": []}', '{"choices": null}', '{"choices": {"0": 1}}']
)
def test_a_body_without_a_choice_is_an_error(body: str) -> None:
    chunks, reader = read(body.encode())
    assert (chunks, failed(reader).message) == ([], "the upstream's answer holds no choice")


def test_an_endless_body_and_an_endless_event_are_refused() -> None:
    piece = b"x" * (1 << 20)
    for start in (b"{", b"data: "):
        reader = ChunkReader()
        reader.feed(start)
        for _ in range(BODY_LIMIT // len(piece) + 1):
            reader.feed(piece)
        assert "bytes" in failed(reader).message
        assert reader.flush() == []


def test_a_stream_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.chat.chunks.STREAM_LIMIT", 1000)
    reader, chunks = ChunkReader(), 0
    while reader.error is None:
        chunks += len(reader.feed(sse(SAY_A)))
    assert chunks == 1000 // len(sse(SAY_A))
    assert failed(reader).message == "the upstream sent a stream of more than 1000 bytes"


# --- the choice that matters ---


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ([{"index": 0, "a": 1}], 1),
        ([{"index": 1, "a": 1}, {"index": 0, "a": 2}], 2),
        ([{"a": 1}], 1),
        ([{"index": None, "a": 1}], 1),
        ([None, 7, {"a": 1}], 1),
        ([{"index": 1, "a": 1}], None),
        ([], None),
        (None, None),
        ({"0": {"a": 1}}, None),
        ("choices", None),
    ],
)
def test_the_choice(choices: Any, expected: int | None) -> None:
    assert the_choice({"choices": choices}).get("a") == expected
    assert the_choice({}) == {}


@pytest.mark.parametrize("choice", [{}, {"delta": None}, {"delta": "a"}, {"delta": [1]}])
def test_no_delta(choice: dict[str, Any]) -> None:
    assert the_delta(choice) == {}


def test_other_choices_of_n_are_left_out() -> None:
    many = {"choices": [{"index": 1, "message": {"content": "b"}}, *WHOLE["choices"]]}
    assert one_chunk(many) == AS_CHUNK


# --- a completion as a chunk ---


def test_one_chunk_keeps_what_is_beside_the_message() -> None:
    completion = {
        "usage": {"prompt_tokens": 1},
        "__verbose": {"a": 1},
        "choices": [{"index": 0, "message": {"content": None}, "finish_reason": "length", "stop_reason": "5"}],
    }
    assert one_chunk(completion) == {
        "usage": {"prompt_tokens": 1},
        "__verbose": {"a": 1},
        "choices": [{"index": 0, "stop_reason": "5", "delta": {"content": None}, "finish_reason": "length"}],
    }


@pytest.mark.parametrize("finish", [{}, {"finish_reason": None}, {"finish_reason": ""}])
def test_a_completion_is_complete_without_a_reason_too(finish: dict[str, Any]) -> None:
    chunk = one_chunk({"choices": [{"message": {"content": "a"}, **finish}]})
    assert the_choice(chunk)["finish_reason"] == "stop"


def test_calls_get_their_numbers() -> None:
    calls = [{"id": "a", "function": {}}, None, {"id": "b", "index": 0}]
    chunk = one_chunk({"choices": [{"message": {"tool_calls": calls}}]})
    numbered = the_delta(the_choice(chunk))["tool_calls"]
    assert [(call["id"], call["index"]) for call in numbered] == [("a", 0), ("b", 2)]


@pytest.mark.parametrize("message", [None, "text", [], 7])
def test_a_message_that_is_none(message: Any) -> None:
    assert the_delta(the_choice(one_chunk({"choices": [{"message": message}]}))) == {}


def test_what_is_no_completion_stays_as_it_is() -> None:
    assert one_chunk({"a": 1}) == {"a": 1}


KEYS = st.sampled_from(
    ("choices", "delta", "message", "index", "finish_reason", "error", "detail", "object", "tool_calls", "code", "type")
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 600) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4), st.booleans())
def test_no_value_breaks_the_reader(values: list[Any], body: bool) -> None:
    chunks, reader = read(json.dumps(values[0]).encode() if body and values else sse(*map(json.dumps, values)))
    assert all(isinstance(chunk, dict) for chunk in chunks)
    assert reader.error is None or 400 <= reader.error.status <= 599


@pytest.mark.parametrize("error", ["{}", '""', "false", "[]"])
def test_an_empty_error_is_still_an_error(error: str) -> None:
    chunks, reader = read(b'data: {"error":%b}\n\ndata: [DONE]\n\n' % error.encode())
    assert (chunks, failed(reader).status) == ([], 502)


def test_a_chunk_with_an_empty_error_beside_its_choices_is_a_chunk() -> None:
    chunks, reader = read(b'data: {"error":"","choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n')
    assert (len(chunks), reader.error) == (1, None)


@pytest.mark.parametrize(
    "body", ['{"choices":[{"message":null}]}', '{"choices":[{"message":"hi"}]}', '{"choices":[{"text":"hi"}]}']
)
def test_a_body_without_a_message_is_an_error(body: str) -> None:
    chunks, reader = read(body.encode())
    assert (chunks, failed(reader).message) == ([], "the upstream's answer holds no message")


@pytest.mark.parametrize(("index", "ours"), [("0", True), ('"0"', True), ("null", True), ("1", False), ('"1"', False)])
def test_the_choice_is_the_first_however_its_number_is_written(index: str, ours: bool) -> None:
    chunks, _ = read(b'data: {"choices":[{"index":%b,"delta":{"content":"a"}}]}\n\n' % index.encode())
    assert bool(the_choice(chunks[0])) is ours


PROBLEM = ProblemField("problem", message="why", word="kind", retry_after="retry-in")
FULL = b'{"problem": {"why": "full", "kind": "overloaded"}}'


@pytest.mark.parametrize(
    "wire",
    [
        FULL,
        b"data: " + FULL + b"\n\n",
        b"event: error\ndata: " + FULL + b"\n\n",
        b"event: oops\ndata: " + FULL + b"\n\n",
    ],
)
def test_an_error_that_the_engine_tells_in_its_own_way(wire: bytes) -> None:
    reader = ChunkReader((), PROBLEM, {"retry-in": "7"})
    assert [*reader.feed(wire), *reader.flush()] == []
    assert reader.error is not None
    assert (reader.error.message, reader.error.kind, reader.error.retry_after) == ("full", "overloaded", 7)
    plain = ChunkReader()
    plain.feed(wire)
    assert plain.error is None or plain.error.message != "full"


def test_an_event_of_an_error_in_the_usual_way_is_one_all_the_same() -> None:
    reader = ChunkReader(problem=PROBLEM)
    reader.feed(b'event: error\ndata: {"message": "full"}\n\n')
    assert reader.error is not None
    assert reader.error.message == "full"


def odd(chunk: Chunk) -> Chunk:
    """An engine that says `says` for the text and `oops` for an error."""
    if "oops" in chunk:
        return {"error": {"message": chunk["oops"]}}
    return {"choices": [{"index": 0, "delta": {"content": chunk["says"]}, "finish_reason": chunk.get("why")}]}


def test_an_engine_s_own_chunks_are_made_the_usual_ones() -> None:
    reader = ChunkReader(usual=odd)
    chunks = reader.feed(b'data: {"says": "a"}\n\ndata: {"says": "b", "why": "stop"}\n\n')
    assert [chunk["choices"][0]["delta"]["content"] for chunk in chunks] == ["a", "b"]
    assert reader.finished


def test_a_whole_completion_is_made_the_usual_one() -> None:
    reader = ChunkReader(usual=odd)
    assert reader.feed(b'{"says": "a"}') == []
    (chunk,) = reader.flush()
    assert chunk["choices"][0]["delta"]["content"] == "a"
    assert chunk["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("wire", [b'data: {"oops": "no"}\n\n', b'{"oops": "no"}'])
def test_an_error_may_show_in_the_usual_form_alone(wire: bytes) -> None:
    reader = ChunkReader(usual=odd)
    assert (reader.feed(wire), reader.flush()) == ([], [])
    assert reader.error is not None
    assert reader.error.message == "no"


def test_what_makes_no_chunk_is_told() -> None:
    with pytest.raises(TypeError, match="usual gave list, not a chunk"):
        ChunkReader(usual=lambda _: []).feed(b'data: {"says": "a"}\n\n')  # type: ignore[arg-type, return-value]
