from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.captured import Captured, bytes_of
from core.chat.recording import RecordedCall
from core.request import HTTPRequest
from core.testing import UpstreamAnswer, replay

HEAD: dict[str, Any] = {
    "format": 1,
    "id": "req_1",
    "method": "POST",
    "mount": "/v1",
    "path": "/messages",
    "query": "beta=true",
    "headers": [["x-api-key", "***"]],
    "body": '{"max_tokens": 5, "stream": true, "stop_sequences": ["5"]}',
}
LINES: list[dict[str, Any]] = [
    {"sent": '{"reasoning_effort": "low"}'},
    {"answered": 400, "headers": {}},
    {"read": "no"},
    {"ended": ""},
    {"sent": '{"stream": true}'},
    {"answered": 200, "headers": {"content-type": "text/event-stream", "Transfer-Encoding": "chunked"}},
    {"read": "data: "},
    {"answer": "event: x\n\n"},
    {"read": {"base64": "8J+m"}},
    {"read": {"base64": "nA=="}},
    {"ended": "ReadError: gone"},
    {"answer": "more"},
    {"status": 200},
    {"later": "a line of a later version"},
]


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "exchange.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_an_exchange_is_read_whole(tmp_path: Path) -> None:
    captured = Captured.load(write(tmp_path, HEAD, *LINES))
    body = HEAD["body"].encode()
    http = HTTPRequest("POST", "/messages", "/v1", b"beta=true", ((b"x-api-key", b"***"),), body, "req_1")
    assert captured == Captured(
        http,
        (
            RecordedCall(b'{"reasoning_effort": "low"}', (b"no",), 400, {}),
            RecordedCall(
                b'{"stream": true}',
                (b"data: ", b"\xf0\x9f\xa6", b"\x9c"),
                200,
                {"content-type": "text/event-stream"},
                "ReadError: gone",
            ),
        ),
        200,
        b"event: x\n\nmore",
    )


def test_the_arguments_of_a_replay_are_those_of_the_last_call(tmp_path: Path) -> None:
    arguments = Captured.load(write(tmp_path, HEAD, *LINES)).arguments
    fails = arguments.pop("fails")
    assert (type(fails), str(fails)) == (httpx.ReadError, "ReadError: gone")
    assert arguments == {
        "pieces": [b"data: ", b"\xf0\x9f\xa6", b"\x9c"],
        "request": json.loads(HEAD["body"]),
        "stream": True,
        "upstream_stream": "always",
        "status": 200,
        "headers": {"content-type": "text/event-stream"},
    }


def test_a_captured_answer_can_be_replayed(tmp_path: Path) -> None:
    wire = UpstreamAnswer(text="1, 2", choice={"stop_reason": "5"}).json().decode()
    call = [{"sent": '{"stream":false}'}, {"answered": 200, "headers": {}}, {"read": wire[:9]}, {"read": wire[9:]}]
    captured = Captured.load(write(tmp_path, HEAD, *call, {"ended": "closed"}))
    reply = replay(["vllm"], **captured.arguments)
    assert reply.message["content"] == [{"type": "text", "text": "1, 2"}]
    assert (reply.message["stop_sequence"], reply.sent["stream"]) == ("5", False)


def test_a_part_is_known_as_one_and_no_body_is_no_request(tmp_path: Path) -> None:
    captured = Captured.load(write(tmp_path, {**HEAD, "body": "no JSON"}, {"cut": True}))
    assert (captured.cut, captured.request, captured.calls) == (True, {}, ())
    assert captured.arguments["pieces"] == []
    assert Captured.load(write(tmp_path, {**HEAD, "body": "[1]"})).request == {}


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], "line 1 is not the head"),
        ([{"format": 2}], "line 1 is not the head of a captured exchange, format 1"),
        ([{"format": 1}], "line 1 lacks a part of the request: 'headers'"),
        ([HEAD, "{"], "line 2 is not JSON"),
        ([HEAD, [1]], "line 2 is not a JSON object"),
        ([HEAD, {"read": "x"}], "line 2 is not of a captured exchange"),
        ([HEAD, {"sent": ""}, {"answered": "x", "headers": {}}], "line 3 is not of a captured exchange"),
    ],
)
def test_another_file_is_refused_with_its_line(tmp_path: Path, lines: list[Any], text: str) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(ValueError, match=r"exchange\.jsonl: ") as caught:
        Captured.load(path)
    assert str(caught.value).startswith(f"{path}: {text}")


def test_bytes_are_text_or_base64() -> None:
    assert (bytes_of("🦜"), bytes_of({"base64": "/w=="})) == ("🦜".encode(), b"\xff")


def test_characters_that_end_a_line_in_unicode_end_none_here(tmp_path: Path) -> None:
    path = tmp_path / "exchange.jsonl"
    text = "a\u2028b\u2029c\u0085d\x0be"
    lines = [HEAD, {"sent": "{}"}, {"answered": 200, "headers": {}}, {"read": text}]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    assert Captured.load(path).calls[0].pieces == (text.encode(),)


def test_a_file_that_ends_within_a_line_is_a_part(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD, *LINES[:2])
    path.write_bytes(path.read_bytes() + b'{"read": "no')
    captured = Captured.load(path)
    assert (captured.cut, len(captured.calls)) == (True, 1)


@pytest.mark.parametrize("key", ["method", "path", "mount", "query", "id"])
def test_a_head_of_other_types_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match=f"line 1 lacks a part of the request: '{key}' is no string"):
        Captured.load(write(tmp_path, {**HEAD, key: 5}))
