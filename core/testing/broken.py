"""Upstream answers that fail: refused by an HTTP status, broken by an error object, or cut off."""

from __future__ import annotations

from typing import Any

import attrs

from core.testing.answers import UpstreamAnswer, dump


@attrs.frozen
class BrokenAnswer:
    """An answer that must become an error in every mode.

    Build one by `refused`, `with_error` or `cut_off`. `reach` is the share of the bytes, from 0 up to 1, that a cut
    answer has before it ends; `body` replaces the answer's bytes.
    """

    answer: UpstreamAnswer
    status: int = 200
    body: bytes | None = None
    content_type: str = ""
    reach: float | None = None

    @classmethod
    def refused(cls, answer: UpstreamAnswer, status: int, body: bytes, content_type: str) -> BrokenAnswer:
        """An HTTP error instead of the answer."""
        return cls(answer, status, body, content_type)

    @classmethod
    def with_error(cls, answer: UpstreamAnswer, error: Any) -> BrokenAnswer:
        """The answer's content, then an object with that `error`, at HTTP status 200."""
        return cls(attrs.evolve(answer, error=error))

    @classmethod
    def cut_off(cls, answer: UpstreamAnswer, reach: float) -> BrokenAnswer:
        """The bytes up to somewhere before the one that tells that the answer is whole."""
        return cls(answer, reach=reach)

    def wire(self, *, stream: bool) -> bytes:
        """The bytes that come."""
        if self.body is not None:
            return self.body
        if self.reach is None:
            return self.answer.wire(stream=stream)
        if not stream:
            whole = self.answer.json()
            return whole[: int(self.reach * len(whole))]
        return self._cut_stream()

    def chunks(self) -> list[dict[str, Any]]:
        """The chunks that arrive whole in a stream."""
        if self.body is not None:
            return []
        if self.reach is None:
            return self.answer.chunks()[:-1]
        length, arrived = len(self._cut_stream()), []
        for chunk in self.answer.chunks():
            length -= len(self.answer.framing.data(chunk))
            if length < 0:
                break
            arrived.append(chunk)
        return arrived

    def _cut_stream(self) -> bytes:
        events = [self.answer.framing.data(chunk) for chunk in self._unfinished()]
        before = b"".join(events)
        return before[: int((self.reach or 0.0) * (len(before) + 1))]

    def _unfinished(self) -> list[dict[str, Any]]:
        """The chunks before the one that finishes the answer; all of them when only [DONE] does."""
        chunks = self.answer.chunks()
        finishing = [number for number, chunk in enumerate(chunks) if _finishes(chunk)]
        return chunks[: finishing[0]] if finishing else chunks


def error_bodies(words: str, status: int) -> list[tuple[bytes, str]]:
    """Error bodies in every shape of engines and proxies, each with its content type; all but the last say `words`.

    An `error` object, an `error` string, flat with `message`, `detail` as a string and as a list, an array, text, a
    page, nothing.
    """
    values: list[Any] = [
        {"error": {"message": words, "type": "server_error", "param": None, "code": None}},
        {"error": {"code": status, "message": words, "type": "BadRequestError", "param": "stop"}},
        {"error": words},
        {"error": words, "error_type": "validation"},
        {"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": status},
        {"detail": words},
        {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": words}]},
        [{"error": {"code": status, "message": words, "status": "INVALID_ARGUMENT"}}],
    ]
    page = f"<html><head><title>{words}</title></head><body><h1>{words}</h1></body></html>"
    json_bodies = [(dump(value).encode(), "application/json") for value in values]
    return [*json_bodies, (words.encode(), "text/plain"), (page.encode(), "text/html"), (b"", "text/plain")]


def _finishes(chunk: dict[str, Any]) -> bool:
    return any(choice.get("finish_reason") for choice in chunk.get("choices", ()))
