"""`hookline trace`: which request, which pipeline, which upstream bytes; each fault of these is one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import attrs

from core.captured import Captured
from core.chat.recording import RecordedCall
from core.culprit import notes_of
from core.loader import Loaded
from core.pipeline import Pipeline
from core.raised import in_words
from core.request import HTTPRequest
from core.trace import Outcome, Step, Tell, run_traced

_HEADERS: Final = ((b"content-type", b"application/json"), (b"anthropic-version", b"2023-06-01"))


class TraceError(Exception):
    """There is nothing to trace; the text is one line for the user."""


@attrs.frozen
class Source:
    """What a file holds: a client's request, or a captured exchange with its upstream's bytes."""

    body: bytes
    captured: Captured | None = None


def read_source(path: Path) -> Source:
    """The request or the exchange of a file, told apart by its first line. Raises TraceError."""
    data = _read(path)
    first = _json(data.partition(b"\n")[0])
    if isinstance(first, dict) and "format" in first and "headers" in first:
        try:
            captured = Captured.load(path)
        except ValueError as error:
            raise TraceError(str(error)) from error
        return Source(captured.http.body, captured)
    if not isinstance(_json(data), dict):
        raise TraceError(f"{path} is neither a request (a JSON object) nor a captured exchange")
    return Source(data)


def http_of(source: Source, pipelines: Sequence[Pipeline], name: str = "") -> HTTPRequest:
    """The client's HTTP request: as it was captured, or to the messages of a pipeline (""; the first one).

    Raises TraceError.
    """
    if source.captured is not None and not name:
        http = source.captured.http
        return attrs.evolve(http, path=http.mount + http.path, mount="", body=source.body)
    pipeline = next((each for each in pipelines if name in ("", each.name)), None)
    if pipeline is None:
        raise TraceError(f"no pipeline {name!r}; here: {', '.join(each.name for each in pipelines)}")
    path = pipeline.paths[0] + (source.captured.http.path if source.captured else "/messages")
    return HTTPRequest("POST", path, headers=_HEADERS, body=source.body, id="req_trace", client="trace")


def calls_of(source: Source, upstream: Path | None, *, status: int, cut: int, live: bool) -> list[RecordedCall] | None:
    """The upstream's bytes: those of a file, or those that were captured; None where it is to be asked.

    `cut` (0: not at all) cuts a file every so many bytes. Raises TraceError.
    """
    if live:
        if upstream is not None:
            raise TraceError("--live asks the upstream: leave --upstream away")
        return None
    if upstream is not None:
        return [_call(_read(upstream), status, cut)]
    if source.captured is None:
        return None
    if source.captured.cut:
        raise TraceError("the exchange was too large to be captured whole; raise max_bytes of capture, or use --live")
    return list(source.captured.calls)


def trace(loaded: Loaded, http: HTTPRequest, calls: list[RecordedCall] | None, tell: Tell) -> Outcome:
    """Run the request; recorded bytes that no call asked for are told, too. Raises TraceError."""
    asked = []

    def noted(step: Step) -> None:
        asked.append(step.stage == "sent")
        tell(step)

    try:
        outcome = anyio.run(run_traced, loaded, http, calls, noted)
    except (Exception, SystemExit) as error:
        # The gateway answers for requests; what is left is a plugin's part that does not start, or does not end.
        raise TraceError("; ".join(["the gateway does not run: " + in_words(error), *notes_of(error)])) from error
    if calls and not any(asked):
        tell(Step("note", "", "no call asked for the upstream's bytes"))
    return outcome


def _call(data: bytes, status: int, cut: int) -> RecordedCall:
    kind = "application/json" if data.lstrip()[:1] in (b"{", b"[") else "text/event-stream"
    size = cut or len(data) or 1
    pieces = tuple(data[at : at + size] for at in range(0, len(data), size))
    return RecordedCall(b"", pieces, status, {"content-type": kind})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from error


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
