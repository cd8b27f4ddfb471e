from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from core import HTTPRequest
from core.testing import Captured
from plugins.capture.exchange import Exchange
from plugins.capture.folder import Folder

HTTP = HTTPRequest(
    "POST",
    "/messages",
    "/v1",
    b"key=abc",
    ((b"authorization", b"Bearer client-sesame"), (b"x-kind", b"test")),
    b'{"messages": "\xf0\x9f\xa6\x9c"}',
    "req_1",
)


def exchange(folder: Path, limit: int = 10_000) -> Exchange:
    return Exchange(HTTP, None, Folder(folder, 9), limit)


def lines_of(made: Exchange) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (made.folder.path / made.name).read_text().splitlines()]


def test_what_happens_is_written_in_its_order_and_can_be_read_again(tmp_path: Path) -> None:
    made = exchange(tmp_path)
    made.hide(["backend-sesame"])
    made.sent(b'{"stream": true, "user": "backend-sesame"}')
    made.answered(200, {"content-type": "text/event-stream", "set-cookie": "c"})
    for piece in (b"data: \xf0\x9f", b"\xa6\x9c backend-", b"sesame client-sesame"):
        made.read(piece)
    made.answer(b"event: x\n\n")
    made.answer(b"")
    made.ended("")
    made.done(200)
    captured = Captured.load(tmp_path / made.name)
    assert (captured.http.body, captured.http.path, captured.status) == (HTTP.body, "/messages", 200)
    assert captured.http.header("authorization") == "***"
    assert captured.http.header("x-kind") == "test"
    assert captured.http.query == b"key=***"
    (call,) = captured.calls
    assert call.sent == b'{"stream": true, "user": "**************"}'
    assert call.headers == {"content-type": "text/event-stream", "set-cookie": "***"}
    assert call.pieces == (b"data: \xf0\x9f", b"\xa6\x9c ********", b"****** *************")
    assert captured.answer == b"event: x\n\n"
    text = (tmp_path / made.name).read_text()
    assert "sesame" not in text
    assert [next(iter(line)) for line in lines_of(made)[1:]] == [
        "ms",
        "answered",
        "ms",
        "ms",
        "ms",
        "ms",
        "ended",
        "status",
    ]


def test_each_line_is_written_once(tmp_path: Path) -> None:
    made = exchange(tmp_path)
    made.done(400)
    made.ended("closed")
    made.save()
    assert [set(line) - {"ms"} for line in lines_of(made)][1:] == [{"status"}, {"ended"}]


def test_what_is_over_the_limit_is_left_out_and_said(tmp_path: Path) -> None:
    made = exchange(tmp_path, limit=len(HTTP.body) + 4)
    made.sent(b"{}")
    made.read(b"abcdef")
    made.read(b"ghi")
    made.answer(b"jkl")
    made.done(200)
    captured = Captured.load(tmp_path / made.name)
    assert (captured.cut, captured.calls[0].pieces, captured.answer) == (True, (b"ab",), b"")
    assert sum("cut" in line for line in lines_of(made)) == 1


def test_files_sort_by_time(tmp_path: Path) -> None:
    first, second = exchange(tmp_path), exchange(tmp_path)
    assert first.name < second.name
    assert first.name.endswith("-req_1.jsonl")


def test_a_secret_is_nowhere_in_the_file(tmp_path: Path) -> None:
    headers = ((b"x-api-key", b"client-sesame"), (b"referer", b"http://x/?k=client-sesame"))
    http = HTTPRequest("POST", "/v1/client-sesame", query=b"token=param-sesame&a=param-sesame", headers=headers, id="r")
    made = Exchange(http, None, Folder(tmp_path, 9), 10_000)
    made.hide(['key-"sesame"'])
    made.sent(json.dumps({"user": 'key-"sesame"', "param": "param-sesame"}).encode())
    made.answered(200, {"location": 'http://x/?k=key-"sesame"'})
    made.answer(b"client-")
    made.ended('ConnectError: key-"sesame"')
    made.answer(b"sesame")
    made.done(200)
    text = (tmp_path / made.name).read_text()
    assert "sesame" not in text
    assert Captured.load(tmp_path / made.name).answer == b"*" * 13


def test_a_secret_that_the_limit_cuts_is_masked(tmp_path: Path) -> None:
    made = exchange(tmp_path, limit=len(HTTP.body) + 9)
    made.hide(["backend-sesame"])
    made.sent(b"backend-sesame")
    made.done(200)
    assert "backend" not in (tmp_path / made.name).read_text()


def test_an_exchange_that_could_not_be_begun_is_not_written_in_part(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = exchange(tmp_path / "file")
    with capture_logs() as logs:
        made.ended("")
        made.done(200)
    assert [line["event"] for line in logs] == ["an exchange cannot be written"]
