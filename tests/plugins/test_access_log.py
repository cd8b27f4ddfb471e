from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import structlog
from structlog.testing import capture_logs

from core import Candidate, Config, HTTPRequest, RequestError, Secret, Stop, UpstreamError, Usage
from core.config import BackendConfig
from core.log import configure_logs
from core.record import Record
from core.request import Request
from core.route import Route
from plugins.access_log import LONGEST, AccessLog

pytestmark = pytest.mark.anyio

KEY = "sk-ant-api03-AbCdEfGhIjKlMnOp"


@pytest.mark.parametrize(
    ("error", "level"),
    [(None, "info"), (RequestError("no"), "warning"), (RequestError("no", status=500), "error")],
)
async def test_one_line_per_request_written_when_it_is_over(error: RequestError | None, level: str) -> None:
    record = Record(HTTPRequest("POST", "/messages", mount="/v1", id="req_1"), status=200)
    with capture_logs() as logs:
        record.error = error
        AccessLog().observe([record])
    (line,) = logs
    assert (line["event"], line["id"], line["path"], line["log_level"]) == ("request", "req_1", "/v1/messages", level)


async def line_of(record: Record, plugin: AccessLog | None = None) -> dict[str, Any]:
    with capture_logs() as logs:
        (plugin or AccessLog()).observe([record])
    (line,) = logs
    return dict(line)


def full(**changes: Any) -> Record:
    """A request of which all is known."""
    record = Record(HTTPRequest("POST", "/messages", mount="/v1", id="req_1", client="h:1"), pipeline="p", status=200)
    record.request = Request("message", model="m", stream=True)
    record.route = Route((Candidate("b", "up"),))
    began = record.started
    record.accepted, record.first_delta, record.first, record.ended = (began + second for second in (1, 2, 3, 4))
    record.usage, record.stop = Usage(3, 4), Stop("stop_sequence", "END")
    return attrs.evolve(record, **changes)


async def test_the_line_has_it_all() -> None:
    line = await line_of(full(error=UpstreamError("no"), left=True, trace_id="4b"))
    wanted = {
        "id": "req_1",
        "client": "h:1",
        "pipeline": "p",
        "model": "m",
        "backend": "b",
        "upstream_model": "up",
        "accepted_ms": 1000.0,
        "first_delta_ms": 2000.0,
        "first_ms": 3000.0,
        "ms": 4000.0,
        "input_tokens": 3,
        "output_tokens": 4,
        "stop_reason": "stop_sequence",
        "error": "api",
        "message": "no",
        "left": True,
        "trace_id": "4b",
    }
    assert wanted.items() <= line.items()


@pytest.mark.parametrize("header", ["x-api-key", "authorization", "cookie"])
async def test_what_the_client_sent_as_its_key_is_nowhere(header: str) -> None:
    secret = "tiny-7-secret"
    headers = [(header.encode(), f"Bearer {secret}".encode()), (b"user-agent", f"cli/{secret}".encode())]
    http = HTTPRequest("POST", f"/{secret}/messages", headers=headers)
    error = UpstreamError(f"no such key: {secret}")
    error.__cause__ = ConnectionError(secret)
    line = await line_of(full(http=http, request=Request("message", model=secret), error=error))
    assert secret not in repr(line)
    assert line["path"] == "/***/messages"


async def test_what_is_configured_is_nowhere() -> None:
    backend = BackendConfig(
        "b",
        ("vllm",),
        key=Secret("backend-key"),
        headers={"x-token": Secret("Token header-key")},
        proxy=Secret("http://user:proxy-pass@host"),
        query={"code": "query-key"},
    )
    plugin = AccessLog()
    plugin.check(Config("f", (), {"b": backend}))
    error = UpstreamError("backend-key header-key query-key http://user:proxy-pass@host")
    line = await line_of(full(error=error), plugin)
    assert line["message"] == "*** *** *** ***"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"Incorrect API key: {KEY}.", "Incorrect API key: ***"),
        ("key gsk_abcdefghijklmnop is bad", "key *** is bad"),
        ("model: hl-0123456789-abcd_efgh-ijkl", "model: ***"),
        ("/v1/hl-0123456789-abcdefghijkl/x", "/v1/***"),
        ("html-page and hl-model-7 stay", "html-page and hl-model-7 stay"),
        ("/v1/models/hl%2D0123456789%2dabcdefghijkl", "/v1/models/***"),
        ("/v1/models/a%2Fb", "/v1/models/a%2Fb"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJz is bad", "token *** is bad"),
        ("'Bearer abcdefghij' is bad", "'Bearer ***' is bad"),
        ("cannot reach http://user:pass@host/v1", "cannot reach http://***@host/v1"),
        ("at https://host/v1?api-key=abc&x=1", "at https://host/v1?api-key=***&x=1"),
        ("at https://host/v1?x=1&access_token=abc", "at https://host/v1?x=1&access_token=***"),
        ("model sk-1 = a@b is not here", "model sk-1 = a@b is not here"),
    ],
)
async def test_what_has_the_shape_of_a_key_is_masked(said: str, told: str) -> None:
    line = await line_of(full(error=UpstreamError(said)))
    assert line["message"] == told


async def test_a_short_key_is_no_secret() -> None:
    http = HTTPRequest("POST", "/none", headers=[(b"x-api-key", b"none")])
    assert (await line_of(full(http=http)))["path"] == "/none"


@pytest.fixture
def written() -> Iterator[io.BytesIO]:
    """What the application's own configuration of the log writes."""
    out = io.BytesIO()
    configure_logs()
    structlog.configure(logger_factory=structlog.BytesLoggerFactory(out))
    yield out
    structlog.reset_defaults()


WILD = 'line\nbreak \u2028 quote" back\\slash \ud800 nul\0 \x1b[31m ü'


async def test_whatever_is_in_it_is_one_line_of_json(written: io.BytesIO) -> None:
    http = HTTPRequest("POST", f"/{WILD}", headers=[(b"user-agent", bytes(range(1, 256)))])
    record = full(
        http=http, request=Request("message", model=WILD), error=UpstreamError(WILD), usage=Usage(2**70, -(2**63))
    )
    AccessLog().observe([record])
    out = written.getvalue()
    assert out.count(b"\n") == 1
    line = json.loads(out)
    assert line["model"] == WILD.replace("\ud800", "?")
    assert line["input_tokens"] == str(2**70)


async def test_no_field_is_endless() -> None:
    line = await line_of(full(request=Request("message", model="m" * 10_000_000), error=UpstreamError("e" * 9999)))
    assert len(line["model"]) == len(line["message"]) == LONGEST + 1
