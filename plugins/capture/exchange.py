"""One exchange as it happens: its lines, held until there is a good moment to write them."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import attrs
import orjson

from core import HTTPRequest, Request
from plugins.capture.folder import Folder
from plugins.capture.masks import Masks, keys_in, masked_headers, masked_path, masked_query, secrets_in

FORMAT: Final = 1


@attrs.define(eq=False)
class _Line:
    """One line of the file; `data` goes under `key` when it is written, masked then."""

    value: dict[str, Any]
    key: str = ""
    data: bytes = b""


@attrs.define(eq=False)
class Exchange:
    """Hears what passes (it is a `core.chat.Recorder`) and appends it to its file when asked to `save`.

    At most `limit` bytes of payload are kept; what comes after them is left out, and the file says so.
    """

    http: HTTPRequest
    request: Request | None
    folder: Folder
    limit: int
    began: float = attrs.field(factory=time.monotonic)
    at: datetime = attrs.field(factory=lambda: datetime.now(UTC))
    _secrets: list[str] = attrs.field(factory=list)
    _lines: list[_Line] = attrs.field(factory=list)
    _left: int = attrs.field(init=False)
    _is_cut: bool = False
    _begun: bool = False
    _lost: bool = False
    """Whether the file could not be written: its rest would be no exchange."""
    _tails: dict[str, bytes] = attrs.field(factory=dict)
    """By key the end of what was written, in which a secret may have begun."""

    def __attrs_post_init__(self) -> None:
        """Begin with the client's request."""
        http = self.http
        self._left = self.limit
        self.hide(secrets_in(http.headers, http.query))
        self.hide(keys_in(http.path.encode(), http.query, http.body, *(value for _, value in http.headers)))
        head = {"format": FORMAT, "at": self.at.isoformat(), "id": http.id, "method": http.method, "mount": http.mount}
        head |= {
            "path": masked_path(http.path),
            "query": masked_query(http.query),
            "headers": masked_headers(_pairs(http)),
        }
        self._add("body", http.body, head)

    @property
    def name(self) -> str:
        """The file's name: by time, then by the request's id."""
        return f"{self.at:%Y%m%dT%H%M%S.%f}-{self.http.id or 'request'}.jsonl"

    def hide(self, secrets: Iterable[str]) -> None:
        """What must not be in the file."""
        self._secrets += secrets

    def sent(self, body: bytes) -> None:
        """A request goes to the upstream."""
        self._add("sent", body)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the upstream's answer."""
        self._note({"answered": status, "headers": dict(masked_headers(headers.items()))})

    def read(self, data: bytes) -> None:
        """One network read."""
        self._add("read", data)

    def ended(self, how: str) -> None:
        """The upstream's answer is over."""
        self._note({"ended": how})
        self.save()

    def answer(self, data: bytes) -> None:
        """Bytes for the client."""
        if data:
            self._add("answer", data)

    def done(self, status: int) -> None:
        """The client's answer is over."""
        self._note({"status": status})
        self.save()

    def save(self) -> None:
        """Append what has come since the last time."""
        lines, self._lines = self._lines, []
        if self._lost or not lines:
            return
        masks = Masks(self._secrets)
        for line in lines:
            line.value = masks.value(line.value)
        for key in {line.key for line in lines if line.key}:
            self._fill([line for line in lines if line.key == key], key, masks)
        data = b"".join(orjson.dumps(line.value) + b"\n" for line in lines)
        write = self.folder.append if self._begun else self.folder.begin
        self._begun, self._lost = True, not write(self.name, data)

    def _fill(self, lines: list[_Line], key: str, masks: Masks) -> None:
        """Put the data of lines of one kind into them, masked."""
        pieces = [line.data for line in lines]
        before = self._tails.get(key, b"")
        masked = masks.pieces(pieces, before=before, cut=key == "answer" or self._is_cut)
        for line, data in zip(lines, masked, strict=True):
            line.value[key] = _as_json(data)
        self._tails[key] = (before + b"".join(pieces))[-masks.longest :] if masks.longest else b""

    def _add(self, key: str, data: bytes, value: dict[str, Any] | None = None) -> None:
        kept = data[: self._left]
        self._left -= len(kept)
        if value is not None or kept or not data:
            self._lines.append(_Line({**(value or {}), "ms": self._ms()}, key, kept))
        if len(kept) < len(data) and not self._is_cut:
            self._is_cut = True
            self._note({"cut": True})

    def _note(self, value: dict[str, Any]) -> None:
        self._lines.append(_Line({**value, "ms": self._ms()}))

    def _ms(self) -> float:
        return round((time.monotonic() - self.began) * 1000, 1)


def _pairs(http: HTTPRequest) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in http.headers]


def _as_json(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
