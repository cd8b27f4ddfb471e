"""Upstream bytes to chunks: a stream of events or one body, whichever the upstream chose to send.

From here on nothing knows which of the two it was: a whole completion is a stream of one chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from core.chat.alike import Alike
from core.chat.completion import Chunk, has_message, is_plain, one_chunk, the_choice
from core.chat.failures import clean, failure_in
from core.chat.problems import Problems
from core.chat.text import loads
from core.errors import UpstreamError
from core.sse import Event, EventDecoder

Usual = Callable[[Chunk], Chunk]
"""Makes an engine's own chunk, or whole completion, the usual one; both are untrusted JSON objects."""

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one whole completion."""

STREAM_LIMIT: Final = 128 * 1024 * 1024
"""Bytes of one stream, some 500,000 chunks: an engine that babbles would fill the memory of a client's JSON answer."""

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"


class ChunkReader:
    """Incremental reader of one upstream answer, event stream or JSON body, told apart by its first character.

    `error` is set when an error came, or the bytes were no answer; the chunks before it are given first. `finished` is
    set when a finish_reason came (usage may still follow), `done` when nothing more can: [DONE], or a whole body.
    `hide` are strings (keys, addresses) that must not be in an error; `problem` finds the errors that the engine tells
    in its own way, `headers` are the HTTP answer's, for it. `usual` makes what came the usual form, errors apart.
    """

    def __init__(
        self,
        hide: Sequence[str] = (),
        problem: Problems | None = None,
        headers: Mapping[str, str] | None = None,
        usual: Usual | None = None,
    ) -> None:
        self.error: UpstreamError | None = None
        self.done = False
        self.finished = False
        self._hide = hide
        self._problem = problem
        self._headers = headers
        self._usual = usual
        self._odd = problem is not None or usual is not None
        self._lead = b""
        self._events: EventDecoder | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._begun = False
        self._alike = Alike()

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that these bytes complete."""
        if self.done or self.error:
            return []
        if self._events is not None:
            return self._decode(self._events, data)
        return self._keep(data) if self._body else self._tell_apart(data)

    def flush(self) -> list[Chunk]:
        """The rest, when the upstream has ended."""
        if self.done or self.error:
            return []
        if self._events is not None:
            return self._chunks(self._events.flush(), last=True)
        return self._whole(b"".join(self._body)) if self._body else []

    def _tell_apart(self, data: bytes) -> list[Chunk]:
        # Blank lines in front are a keep-alive, of JSON answers too (DeepSeek); half a BOM says nothing yet.
        lead = (self._lead + data).lstrip(_BLANK)
        if lead.startswith(_BOM):
            lead = lead.removeprefix(_BOM).lstrip(_BLANK)
        if _BOM.startswith(lead):
            self._lead = lead
            return []
        if lead.startswith((b"{", b"[", b"<", b'"')):
            return self._keep(lead)
        self._events = EventDecoder()
        return self._decode(self._events, lead)

    def _keep(self, data: bytes) -> list[Chunk]:
        self._body.append(data)
        self._size += len(data)
        if self._size > BODY_LIMIT:
            self._fail(f"the upstream sent a body of more than {BODY_LIMIT} bytes")
        return []

    def _decode(self, events: EventDecoder, data: bytes) -> list[Chunk]:
        self._size += len(data)
        if self._size > STREAM_LIMIT:
            self._fail(f"the upstream sent a stream of more than {STREAM_LIMIT} bytes")
            return []
        try:
            return self._chunks(events.feed(data))
        except UpstreamError as error:
            self.error = error
            return []

    def _made_usual(self, value: Any) -> Any:
        if self._usual is None or self.error is not None or not isinstance(value, dict):
            return value
        made = self._usual(value)
        if not isinstance(made, dict):
            raise TypeError(f"usual gave {type(made).__name__}, not a chunk")
        # An error may show in the usual form alone.
        self.error = failure_in(made, self._hide, headers=self._headers)
        return made

    def _failure(self, value: Any) -> UpstreamError | None:
        return failure_in(value, self._hide, problem=self._problem, headers=self._headers)

    def _fail(self, message: str) -> None:
        said = clean(message, self._hide) or "the upstream reported an error without a word"
        self.error = UpstreamError(said, status=502)

    def _whole(self, body: bytes) -> list[Chunk]:
        try:
            completion = loads(body)
        except ValueError:
            self._fail("the upstream's answer is not JSON, or was cut off")
            return []
        self.error = self._failure(completion)
        completion = self._made_usual(completion)
        if self.error is None:
            choice = the_choice(completion) if isinstance(completion, dict) else {}
            if not has_message(choice):
                self._fail(f"the upstream's answer holds no {'message' if choice else 'choice'}")
        if self.error is not None:
            return []
        self.done = self.finished = True
        return [one_chunk(completion)]

    def _chunks(self, events: list[Event], *, last: bool = False) -> list[Chunk]:
        chunks: list[Chunk] = []
        run: list[str] = []
        for event in events:
            data = event.data
            text = self._alike.text(data) if not event.name else None
            alone = text is not None and self._alike.alone(text)
            if text is not None and not alone:
                run.append(text)
                continue
            if run:
                chunks.append(self._alike.chunk("".join(run)))
                run = []
            if text is not None:
                chunks.append(self._alike.chunk(text))
                continue
            if data.strip() == b"[DONE]":
                self.done = True
                if not self.finished:
                    # [DONE] is the upstream's word that it finished, also when it gave no reason (llama-cpp-python).
                    self.finished = True
                    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                break
            chunk = self._chunk(event, last=last)
            if self.error is not None:
                break
            if chunk is not None:
                chunks.append(chunk)
        if run:
            chunks.append(self._alike.chunk("".join(run)))
        return chunks

    def _chunk(self, event: Event, *, last: bool) -> Chunk | None:
        foreign = event.name not in ("", "message", "error")
        try:
            value = loads(event.data) if event.data.strip() else None
            if (
                self._begun
                and self._problem is None
                and self._usual is None
                and not event.name
                and value is not None
                and is_plain(value)
            ):
                self._alike.learn(event.data, value)
                return cast("Chunk", value)
        except ValueError:
            if event.name == "error":
                self._fail(event.data.decode("utf-8", "replace"))
            elif last and not self.finished:
                self._fail("the upstream's answer was cut off")
            elif not (last or foreign):
                self._fail("the upstream sent an event that is not JSON")
            return None
        if event.name == "error" and not (isinstance(value, dict) and "error" in value):
            # An engine's own way of telling is looked at as it came.
            self.error = self._failure(value) if self._problem is not None else None
            value = {"error": value or "the upstream reported an error without a word"}
        if value is None or (foreign and not isinstance(value, dict)):
            # SGLang sends side events under names of their own.
            return None
        self.error = self.error or self._failure(value)
        value = self._made_usual(value)
        if self.error is None and not isinstance(value, dict):
            self._fail("the upstream sent an event that is not a JSON object")
        return None if self.error is not None else self._unified(value)

    def _unified(self, chunk: Chunk) -> Chunk:
        """The chunk, or what it is as one when it is a whole completion (the only event of some servers' streams)."""
        choice = the_choice(chunk)
        if choice:
            if not self._begun and "message" in choice and choice.get("delta") is None:
                chunk = one_chunk(chunk)
                choice = the_choice(chunk)
            self._begun = True
            if choice.get("finish_reason"):
                self.finished = True
        return chunk
