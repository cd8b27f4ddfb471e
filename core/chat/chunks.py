"""Upstream bytes to chunks: a stream of events or one body, whichever the upstream chose to send.

From here on nothing knows which of the two it was: a whole completion is a stream of one chunk.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from core.chat.failures import failure_in
from core.errors import UpstreamError
from core.sse import Event, EventDecoder

Chunk = dict[str, Any]

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one whole completion."""

_EMPTY: Final[dict[str, Any]] = {}


def the_choice(chunk: Chunk) -> dict[str, Any]:
    """The choice that matters (`index` 0, or none given), or {}: chunks are untrusted."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return _EMPTY
    for choice in choices:
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return _EMPTY


def the_delta(choice: dict[str, Any]) -> dict[str, Any]:
    """The choice's delta, or {} (Azure sends choices without one)."""
    delta = choice.get("delta")
    return delta if isinstance(delta, dict) else _EMPTY


def one_chunk(completion: Chunk) -> Chunk:
    """A whole completion as a single chunk: `message` becomes `delta`, calls get their numbers.

    Shape: {"choices": [{…, "delta": {…}, "finish_reason": str}], …the rest as it was}. A completion is complete, so an
    absent finish_reason becomes "stop".
    """
    choice = the_choice(completion)
    if not choice:
        return completion
    delta = the_delta({"delta": choice.get("message", choice.get("delta"))})
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        numbered = [{**call, "index": number} for number, call in enumerate(calls) if isinstance(call, dict)]
        delta = {**delta, "tool_calls": numbered}
    kept = {key: value for key, value in choice.items() if key not in ("message", "delta", "finish_reason")}
    return {
        **completion,
        "choices": [{**kept, "delta": delta, "finish_reason": choice.get("finish_reason") or "stop"}],
    }


def loads(data: bytes) -> Any:
    """JSON as engines write it. Raises ValueError.

    orjson refuses lone surrogates, which an engine's server written in Python sends when a character was cut in two;
    the standard library takes them (and `core.chat.text` puts the halves together).
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


class ChunkReader:
    """Incremental reader of one upstream answer, event stream or JSON body, told apart by its first character.

    `error` is set when an error came, or the bytes were no answer; the chunks before it are given first. `done` is set
    when the upstream said that it has finished ([DONE], or a whole body).
    """

    def __init__(self) -> None:
        self.error: UpstreamError | None = None
        self.done = False
        self._finished = False
        self._events: EventDecoder | None = None
        self._body: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that these bytes complete."""
        if self.done or self.error:
            return []
        if self._events is None:
            if not self._body and not (data := data.lstrip(b" \t\r\n")):
                return []
            if self._body or not _is_stream(data):
                return self._keep(data)
            self._events = EventDecoder()
        try:
            return self._chunks(self._events.feed(data))
        except UpstreamError as error:
            self.error = error
            return []

    def flush(self) -> list[Chunk]:
        """The rest, when the upstream has ended."""
        if self.done or self.error:
            return []
        if self._events is not None:
            return self._chunks(self._events.flush())
        if not self._body:
            return []
        return self._whole(b"".join(self._body))

    def _keep(self, data: bytes) -> list[Chunk]:
        self._body.append(data)
        self._size += len(data)
        if self._size > BODY_LIMIT:
            self.error = UpstreamError(f"the upstream sent a body of more than {BODY_LIMIT} bytes", status=502)
        return []

    def _whole(self, body: bytes) -> list[Chunk]:
        try:
            completion = loads(body)
        except ValueError:
            self.error = UpstreamError("the upstream's answer is not JSON, or was cut off", status=502)
            return []
        self.error = failure_in(completion)
        if self.error is None and not (isinstance(completion, dict) and the_choice(completion)):
            self.error = UpstreamError("the upstream's answer holds no choice", status=502)
        if self.error is not None:
            return []
        self.done = True
        return [one_chunk(completion)]

    def _chunks(self, events: list[Event]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for event in events:
            if event.data == b"[DONE]" or event.data.strip() == b"[DONE]":
                self.done = True
                if not self._finished:
                    # [DONE] is the upstream's word that it finished, also when it gave no reason (llama-cpp-python).
                    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                break
            chunk = self._chunk(event)
            if self.error is not None:
                break
            if chunk is not None:
                chunks.append(chunk)
        return chunks

    def _chunk(self, event: Event) -> Chunk | None:
        try:
            value = loads(event.data) if event.data else None
        except ValueError:
            if event.name not in ("", "message", "error"):
                return None
            text = event.data.decode("utf-8", "replace") if event.name == "error" else ""
            self.error = UpstreamError(text or "the upstream sent an event that is not JSON", status=502)
            return None
        if value is None:
            return None
        if event.name == "error" and isinstance(value, dict) and "error" not in value:
            value = {"error": value}
        self.error = failure_in(value)
        if self.error is None and not isinstance(value, dict):
            self.error = UpstreamError("the upstream sent an event that is not a JSON object", status=502)
        if self.error is not None:
            return None
        choice = the_choice(value)
        if choice.get("finish_reason"):
            self._finished = True
        elif "message" in choice and "delta" not in choice:
            # A whole completion as the only event of a stream.
            value = one_chunk(value)
            self._finished = True
        return value  # type: ignore[no-any-return]


def _is_stream(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf")[:1] not in (b"{", b"[", b"<", b'"')
