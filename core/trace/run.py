"""Runs one request through a loaded configuration with spies in it: on the network, or on recorded bytes."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import httpx
from structlog.testing import capture_logs

from core.chat.recording import RecordedCall, RecordingTransport, ReplayTransport
from core.gateway import Gateway
from core.loader import Loaded
from core.pipeline import Pipeline
from core.request import HTTPRequest
from core.trace.objects import Wire
from core.trace.spies import spied, without_onlookers
from core.trace.words import Step, Tell

_SHORTEST: Final = 8
"""Characters that make a word a secret; a shorter one may be any word of the text."""


@attrs.define
class Outcome:
    """What the client got, and the log's lines about it. As a sink it takes the answer's bytes."""

    status: int = 0
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    log: list[Mapping[str, Any]] = attrs.field(factory=list)
    gone: bool = True

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
    tell = _masked(tell, loaded)
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
    # One for all backends: where one took over from another, its call is the next.
    replayed = None if calls is None else ReplayTransport(calls)

    def wrap(inner: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        return RecordingTransport(replayed or inner, Wire(tell))

    def traced(pipeline: Pipeline) -> Pipeline:
        backs = {}
        for name, back in pipeline.backs.items():
            client = transports.setdefault(name, back.client.through(wrap))
            backs[name] = attrs.evolve(back, manager=spied(back.manager, tell), client=client)
        return attrs.evolve(pipeline, manager=spied(pipeline.manager, tell), backs=backs)

    pipelines = tuple(map(traced, loaded.pipelines))
    used = loaded.managers if calls is None else loaded.managers[: len(pipelines)]
    return attrs.evolve(loaded, pipelines=pipelines, managers=tuple(map(without_onlookers, used)))


def _masked(tell: Tell, loaded: Loaded) -> Tell:
    """Tells the steps without the backends' secrets, which an upstream may repeat."""
    secrets = {secret for client in loaded.clients for secret in client.secrets if len(secret) >= _SHORTEST}
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)

    def masked(step: Step) -> None:
        what = step.what
        for form in forms:
            what = what.replace(form, "***")
        tell(attrs.evolve(step, what=what))

    return masked


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is and as JSON has it, both also as they stand in a repr."""
    for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield text
        yield repr(text)[1:-1]


def _tell_fault(entry: Mapping[str, Any], tell: Tell) -> None:
    for note in entry.get("notes", ()):
        tell(Step("fault", "", str(note)))
    error = entry.get("exc_info")
    if isinstance(error, BaseException):
        for line in "".join(traceback.format_exception(error)).splitlines():
            tell(Step("", "", line))
