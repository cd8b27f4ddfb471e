from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from core import HTTPRequest, RequestError
from core.record import Record
from plugins.access_log import AccessLog

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("error", "level"),
    [(None, "info"), (RequestError("no"), "warning"), (RequestError("no", status=500), "error")],
)
async def test_one_line_per_request_written_when_it_is_over(error: RequestError | None, level: str) -> None:
    record = Record(HTTPRequest("POST", "/messages", mount="/v1", id="req_1"), status=200)
    with capture_logs() as logs:
        async with AccessLog().exchange(record):
            assert logs == []
            record.error = error
    (line,) = logs
    assert (line["event"], line["id"], line["path"], line["log_level"]) == ("request", "req_1", "/v1/messages", level)
