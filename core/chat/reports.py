"""What an engine's error body says, whatever its shape.

Shapes seen (docs and sources of the engines): an object with an `error` object, an `error` string, flat with `message`,
`detail` (string or list), an array whose first item is any of those, text, an HTML page, nothing at all.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from core.chat.problems import error_status
from core.chat.text import loads

_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_DEPTH: Final = 4
"""How deep a sentence is looked for: bodies are untrusted."""

_PASSED_ON: Final = re.compile(r"\s*provider returned (?:an )?error\W*", re.IGNORECASE)
"""What OpenRouter says of an error that is not its own."""


@attrs.frozen
class Report:
    """What an error body said: its sentence, its type and code in lower case, its status if it named one (else 0).

    `fields` is the object that said it, for what engines put beside the words.
    """

    message: str = ""
    word: str = ""
    status: int = 0
    fields: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)


def read_body(body: bytes) -> Report:
    """The report of an HTTP answer with an error status."""
    try:
        return report_of(loads(body))
    except ValueError:
        pass
    text = body.decode("utf-8-sig", "replace").strip()
    if text.startswith("<"):
        title = _TITLE.search(text)
        words = html.unescape(" ".join(title.group(1).split())) if title else ""
        return Report(words or "the upstream answered with an HTML page")
    return Report(text)


def report_of(value: Any) -> Report:
    """The report of a parsed JSON value."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return Report(value)
    if not isinstance(value, dict):
        return Report("" if value is None else _dump(value))
    inner = value.get("error")
    if isinstance(inner, dict):
        value = {**value, **inner}
    message = _first(value, ("message", "error", "detail", "msg"), _DEPTH)
    word = " ".join(str(value[key]) for key in ("type", "code", "error_type", "status") if _is_word(value.get(key)))
    numbers = (error_status(value.get(key)) for key in ("code", "status", "http_status_code", "status_code"))
    report = Report(message, word.lower(), next(filter(None, numbers), 0), value)
    metadata = value.get("metadata")
    if not (_PASSED_ON.fullmatch(message) and isinstance(metadata, dict) and isinstance(metadata.get("raw"), str)):
        return report
    return _passed_on(report, metadata["raw"])


def _passed_on(report: Report, raw: str) -> Report:
    """The report with the words of the provider behind it, which OpenRouter keeps as text, JSON mostly."""
    inner = read_body(raw.encode("utf-8", "surrogatepass"))
    words = " ".join(filter(None, (report.word, inner.word)))
    fields = {**report.fields, **inner.fields}
    return Report(inner.message or report.message, words, report.status or inner.status, fields)


def is_report(value: dict[str, Any]) -> bool:
    """Whether an object that came with status 200 is an error and no chunk."""
    error = value.get("error")
    if error or value.get("object") == "error" or (error is not None and "choices" not in value):
        return True
    if "choices" in value or "usage" in value:
        return False
    if isinstance(value.get("detail"), str | list):
        return True
    return isinstance(value.get("message"), str) and ("code" in value or "error" in str(value.get("type")).lower())


def _said(value: Any, depth: int) -> str:
    if isinstance(value, str) or not depth:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_said(item, depth - 1) for item in value)))
    if not isinstance(value, dict) or not value:
        return ""
    said = _first(value, ("msg", "message", "detail", "error"), depth - 1)
    # FastAPI's entries: {"loc": ["body", "messages", 0], "msg": …}.
    loc = value.get("loc")
    place = ".".join(str(part) for part in loc if part != "body") if isinstance(loc, list) else ""
    said = said or _dump(value)
    return f"{place}: {said}" if place else said


def _first(value: dict[str, Any], keys: tuple[str, ...], depth: int) -> str:
    return next((said for key in keys if (said := _said(value.get(key), depth))), "")


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, default=str)
    except RecursionError:
        return ""


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int) and bool(value)
