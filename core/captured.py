"""`Captured`: an exchange that the plugin `capture` wrote, to be replayed byte for byte.

The file is JSON lines in the order in which things happened; `docs/plugins.md` describes them. Bytes are a string where
they are UTF-8, else `{"base64": "…"}`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import httpx

from core.chat.recording import RecordedCall
from core.request import HTTPRequest

FORMAT: Final = 1
"""The version of the files' format."""
_HOP: Final = frozenset({"content-length", "transfer-encoding", "connection"})


@attrs.frozen
class Captured:
    """One exchange: the client's request, the calls to the upstream in order, and the answer as it went out.

    `status` is the client's, 0 when none was seen; `cut` tells that the file holds a part only.
    """

    http: HTTPRequest
    calls: tuple[RecordedCall, ...] = ()
    status: int = 0
    answer: bytes = b""
    cut: bool = False

    @classmethod
    def load(cls, path: str | Path) -> Captured:
        """The exchange of a file. Raises ValueError, with file and line, for what is none, and OSError."""
        # Not splitlines: texts may hold characters that end a line in Unicode, and not in JSON lines.
        return _Reader(str(path)).read(Path(path).read_bytes().split(b"\n"))

    @property
    def request(self) -> dict[str, Any]:
        """The client's JSON body; {} when it is none."""
        try:
            body = json.loads(self.http.body)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def arguments(self) -> dict[str, Any]:
        """What `replay` wants to know besides the plugins: `replay([Parrot], **captured.arguments)`."""
        call = self.calls[-1] if self.calls else RecordedCall()
        fails = httpx.ReadError(call.fails) if call.fails else None
        asked = {"pieces": list(call.pieces), "request": self.request, "stream": bool(self.request.get("stream"))}
        streams = "always" if _stream_of(call.sent) else "never"
        return {
            **asked,
            "upstream_stream": streams,
            "status": call.status or 200,
            "headers": call.headers,
            "fails": fails,
        }


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._calls: list[RecordedCall] = []
        self._answer: list[bytes] = []
        self._status = 0
        self._cut = False

    def read(self, lines: Sequence[bytes]) -> Captured:
        *whole, rest = lines
        values = [self._object(number, line) for number, line in enumerate(whole, 1) if line.strip()]
        if rest.strip():
            try:
                values.append(self._object(len(lines), rest))
            except ValueError:
                if not values:
                    raise
                self._cut = True  # whoever wrote the file was stopped within its last line
        if not values or values[0].get("format") != FORMAT:
            raise ValueError(f"{self._file}: line 1 is not the head of a captured exchange, format {FORMAT}")
        for number, value in enumerate(values[1:], 2):
            try:
                self._take(value)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise ValueError(f"{self._file}: line {number} is not of a captured exchange: {error}") from error
        try:
            http = _http(values[0])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{self._file}: line 1 lacks a part of the request: {error}") from error
        return Captured(http, tuple(self._calls), self._status, b"".join(self._answer), self._cut)

    def _object(self, number: int, line: bytes) -> Mapping[str, Any]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self._file}: line {number} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise ValueError(f"{self._file}: line {number} is not a JSON object")  # noqa: TRY004  a file, no argument
        return value

    def _take(self, value: Mapping[str, Any]) -> None:
        if "sent" in value:
            self._calls.append(RecordedCall(bytes_of(value["sent"]), status=0))
        elif "answered" in value:
            self._last(status=int(value["answered"]), headers=_headers(value["headers"]))
        elif "read" in value:
            self._last(pieces=(*self._calls[-1].pieces, bytes_of(value["read"])))
        elif "ended" in value:
            self._last(fails="" if value["ended"] == "closed" else str(value["ended"]))
        elif "answer" in value:
            self._answer.append(bytes_of(value["answer"]))
        elif "status" in value:
            self._status = int(value["status"])
        elif "cut" in value:
            self._cut = True

    def _last(self, **changes: Any) -> None:
        self._calls[-1] = attrs.evolve(self._calls[-1], **changes)


def bytes_of(value: Any) -> bytes:
    """The bytes that a value of the file stands for."""
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else str(value).encode()


def _http(value: Mapping[str, Any]) -> HTTPRequest:
    headers = tuple((str(name).encode("latin-1"), str(text).encode("latin-1")) for name, text in value["headers"])
    for key in ("method", "path", "mount", "query", "id"):
        if not isinstance(value[key], str):
            raise TypeError(f"{key!r} is no string")
    return HTTPRequest(
        method=value["method"],
        path=value["path"],
        mount=value["mount"],
        query=value["query"].encode("latin-1"),
        headers=headers,
        body=bytes_of(value["body"]),
        id=value["id"],
    )


def _headers(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Without those that belong to the connection that was: the replay's has its own."""
    return {name: text for name, text in dict(pairs).items() if name.lower() not in _HOP}


def _stream_of(sent: bytes) -> bool:
    try:
        return bool(json.loads(sent)["stream"])
    except (ValueError, KeyError, TypeError):
        return False
