"""Runs one request through a loaded configuration with spies in it: on the network, or on recorded bytes."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import httpx
from structlog.testing import capture_logs

from core.chat.recording import RecordedCall, RecordingTransport, ReplayTransport
from core.gateway import Gateway
from core.loader import Loaded
from core.pipeline import Pipeline
from core.request import HTTPRequest
from core.trace.objects import Wire
from core.trace.spies import spied
from core.trace.words import Step, Tell


@attrs.define
class Outcome:
    """What the client got, and the log's lines about it. As a sink it takes the answer's bytes."""

    status: int = 0
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    log: list[Mapping[str, Any]] = attrs.field(factory=list)

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Take status and headers."""
        self.status, self.headers = status, tuple(headers)

    async def send(self, data: bytes, more: bool) -> None:  # noqa: ARG002  the bytes say all
        """Take bytes."""
        self.body += data


async def run_traced(loaded: Loaded, http: HTTPRequest, calls: Sequence[RecordedCall] | None, tell: Tell) -> Outcome:
    """Serve one request and tell each step; `http.path` is the whole path.

    With `calls` nothing goes out: the upstream's bytes are theirs, and no backend's part is started. None: live.
    """
    outcome = Outcome()
    gateway = Gateway(_with_spies(loaded, calls, tell))
    with capture_logs() as log:
        async with gateway.running():
            await gateway.handle(http, outcome)
    outcome.log = list(log)
    for entry in log:
        if entry["event"] == "fault":
            _tell_fault(entry, tell)
    tell(Step("client", "", f"{outcome.status}, {len(outcome.body)} bytes"))
    return outcome


def _with_spies(loaded: Loaded, calls: Sequence[RecordedCall] | None, tell: Tell) -> Loaded:
    transports: dict[str, Any] = {}

    def wrap(inner: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        return RecordingTransport(inner if calls is None else ReplayTransport(calls), Wire(tell))

    def traced(pipeline: Pipeline) -> Pipeline:
        backs = {}
        for name, back in pipeline.backs.items():
            client = transports.setdefault(name, back.client.through(wrap))
            backs[name] = attrs.evolve(back, manager=spied(back.manager, tell), client=client)
        return attrs.evolve(pipeline, manager=spied(pipeline.manager, tell), backs=backs)

    pipelines = tuple(map(traced, loaded.pipelines))
    fronts = loaded.managers[: len(pipelines)]
    return attrs.evolve(loaded, pipelines=pipelines, managers=loaded.managers if calls is None else fronts)


def _tell_fault(entry: Mapping[str, Any], tell: Tell) -> None:
    for note in entry.get("notes", ()):
        tell(Step("fault", "", str(note)))
    error = entry.get("exc_info")
    if isinstance(error, BaseException):
        for line in "".join(traceback.format_exception(error)).splitlines():
            tell(Step("", "", line))
