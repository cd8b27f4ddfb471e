from __future__ import annotations

from pathlib import Path

from core import HTTPRequest, Stop, Text, UpstreamError
from core.testing import Captured
from plugins.capture.exchange import Exchange
from plugins.capture.folder import Folder
from plugins.capture.writer import CapturedAnswer
from tests.core.fakes import TextAnswer

HTTP = HTTPRequest("POST", "/say", id="req_1")


def writer(folder: Path) -> tuple[CapturedAnswer, Path]:
    exchange = Exchange(HTTP, None, Folder(folder, 9), 1000)
    return CapturedAnswer(TextAnswer(HTTP, stream=True), exchange), folder / exchange.name


def test_bytes_pass_unchanged_and_are_written_at_the_end(tmp_path: Path) -> None:
    answer, file = writer(tmp_path)
    assert (answer.status, answer.headers) == (200, ((b"x-kind", b"answer"),))
    assert answer.feed([Text("a")]) == b"a"
    assert answer.ping() == b"."
    assert answer.feed([Stop("end_turn")]) == b""
    assert not file.exists()
    assert answer.finish() == b"<end_turn>"
    captured = Captured.load(file)
    assert (captured.answer, captured.status) == (b"a.<end_turn>", 200)


def test_an_error_is_an_end_too(tmp_path: Path) -> None:
    answer, file = writer(tmp_path)
    assert answer.fail(UpstreamError("no", kind="rate_limit")) == b"!rate_limit: no"
    captured = Captured.load(file)
    assert (captured.answer, captured.status) == (b"!rate_limit: no", 429)
