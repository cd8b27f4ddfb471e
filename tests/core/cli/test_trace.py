from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pluggy
import pytest

from core.chat.recording import RecordedCall
from core.cli.trace import Source, TraceError, calls_of, http_of, read_source, trace
from core.config.file import read_config
from core.loader import Loaded, load
from core.pipeline import Pipeline
from core.testing import UpstreamAnswer
from core.trace import Step
from tests.core.test_captured import HEAD, LINES
from tests.core.test_captured import write as write_exchange

ASK: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
PIPELINES = [Pipeline(name, (f"/{name}",), pluggy.PluginManager("x"), {}) for name in ("one", "two")]


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(ASK, indent=2))
    return file


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    return write_exchange(tmp_path, HEAD, *LINES)


def loaded(folder: Path, plugin: str = "vllm") -> Loaded:
    url = "" if plugin == "demo" else 'url = "http://up.invalid"'
    (folder / "pipelines.toml").write_text(
        '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models"]\n[models]\n"m" = { backend = "b" }\n'
        f'[backends.b]\nplugins = ["{plugin}"]\n{url}\n'
    )
    return load(read_config(folder / "pipelines.toml", {}))


def test_a_request_and_an_exchange_are_told_apart(request_file: Path, exchange: Path) -> None:
    assert read_source(request_file) == Source(request_file.read_bytes())
    source = read_source(exchange)
    assert source.captured is not None
    assert source.body == HEAD["body"].encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "is neither a request (a JSON object) nor a captured exchange"),
        ("[1]", "is neither a request (a JSON object) nor a captured exchange"),
        ('{"format": 9, "headers": []}', "line 1 is not the head of a captured exchange"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, text: str) -> None:
    file = tmp_path / "x"
    file.write_text(content)
    with pytest.raises(TraceError) as caught:
        read_source(file)
    assert text in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_source(tmp_path / "x")


def test_a_request_goes_to_the_messages_of_a_pipeline(request_file: Path) -> None:
    source = read_source(request_file)
    http = http_of(source, PIPELINES)
    assert (http.method, http.path, http.mount, http.body) == ("POST", "/one/messages", "", source.body)
    assert http_of(source, PIPELINES, "two").path == "/two/messages"
    with pytest.raises(TraceError, match="no pipeline 'three'; here: one, two"):
        http_of(source, PIPELINES, "three")


def test_an_exchange_goes_where_it_went_or_to_a_pipeline(exchange: Path) -> None:
    source = read_source(exchange)
    http = http_of(source, PIPELINES)
    assert (http.path, http.mount, http.id, http.header("x-api-key")) == ("/v1/messages", "", "req_1", "***")
    assert http_of(source, PIPELINES, "two").path == "/two/messages"


def test_the_upstreams_bytes_come_from_a_file_an_exchange_or_the_upstream(exchange: Path, request_file: Path) -> None:
    captured, plain = read_source(exchange), read_source(request_file)
    how: dict[str, Any] = {"status": 200, "cut": 0, "live": False}
    assert calls_of(plain, None, **how) is None
    assert captured.captured is not None
    assert calls_of(captured, None, **how) == list(captured.captured.calls)
    assert calls_of(captured, None, **{**how, "live": True}) is None
    (call,) = calls_of(plain, request_file, status=429, cut=50, live=False) or []
    assert (call.status, call.headers) == (429, {"content-type": "application/json"})
    assert {len(piece) for piece in call.pieces[:-1]} == {50}
    assert b"".join(call.pieces) == request_file.read_bytes()
    with pytest.raises(TraceError, match="--live asks the upstream"):
        calls_of(plain, request_file, **{**how, "live": True})


def test_a_stream_is_one_read_where_it_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "answer.sse"
    file.write_bytes(b"data: {}\n\n")
    call = RecordedCall(b"", (b"data: {}\n\n",), 200, {"content-type": "text/event-stream"})
    assert calls_of(Source(b"{}"), file, status=200, cut=0, live=False) == [call]


def test_a_part_of_an_exchange_cannot_be_replayed(tmp_path: Path) -> None:
    source = read_source(write_exchange(tmp_path, HEAD, {"cut": True}))
    with pytest.raises(TraceError, match="too large to be captured whole; raise max_bytes of capture, or use --live"):
        calls_of(source, None, status=200, cut=0, live=False)


def test_a_trace_runs_the_request(tmp_path: Path, request_file: Path) -> None:
    told: list[Step] = []
    made = loaded(tmp_path)
    call = RecordedCall(b"", (UpstreamAnswer(text="Hello.").json(),))
    outcome = trace(made, http_of(read_source(request_file), made.pipelines), [call], told.append)
    assert (outcome.status, b"Hello." in outcome.body) == (200, True)
    assert {"parse", "sent", "chunk", "serialize.finish"} <= {step.stage for step in told}
    assert "note" not in {step.stage for step in told}


def test_bytes_that_nobody_asks_for_are_told(tmp_path: Path, request_file: Path) -> None:
    told: list[Step] = []
    made = loaded(tmp_path, "demo")
    trace(made, http_of(read_source(request_file), made.pipelines), [RecordedCall()], told.append)
    assert told[-1] == Step("note", "", "no call asked for the upstream's bytes")


def test_a_part_that_does_not_start_is_one_line(
    tmp_path: Path, request_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trace_life.py").write_text(
        "from core import hookimpl\nclass Life:\n    @hookimpl\n    def lifespan(self): raise OSError('no port')\n"
        "    @hookimpl(wrapper=True)\n    def parse(self): return (yield)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pipelines.toml").write_text(
        '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models", "trace_life:Life"]\n'
        '[models]\n"m" = { backend = "b" }\n[backends.b]\nplugins = ["demo"]\n'
    )
    gateway = load(read_config(tmp_path / "pipelines.toml", {}))
    http = http_of(read_source(request_file), gateway.pipelines)
    with pytest.raises(TraceError) as caught:
        trace(gateway, http, [], lambda _: None)
    assert str(caught.value) == "the gateway does not run: OSError: no port; in lifespan of plugin 'trace_life:Life'"


def test_json_without_a_bottom_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    with pytest.raises(TraceError, match="is neither a request"):
        read_source(file)
