"""Every engine's error body, as an UpstreamError in the upstream's own words.

Shapes seen (docs and sources of the engines): an object with an `error` object, an `error` string, flat with `message`,
`detail` (string or list), an array whose first item is any of those, text, an HTML page, nothing at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import attrs
import orjson

from core.errors import Kind, UpstreamError

MESSAGE_LIMIT: Final = 2000
"""Characters of an upstream's message that are passed on."""

ABORTED: Final = frozenset({"error", "abort", "insufficient_system_resource"})
"""finish_reasons that mean: the engine gave up (OpenRouter, vLLM and SGLang, DeepSeek)."""

_SECRETS: Final = re.compile(r"\b(sk|pk|gsk|hf|key|xai)[-_][\w*.-]{6,}|(?i:\bbearer\s+)[\w.~+/=-]{6,}")
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TRACE: Final = re.compile(r"\s*Traceback \(most recent call last\):.*", re.DOTALL)
_KINDS: Final[dict[int, Kind]] = {
    402: "billing",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    498: "overloaded",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}
_WORDS: Final[tuple[tuple[str, int], ...]] = (
    ("rate_limit", 429),
    ("ratelimit", 429),
    ("overloaded", 503),
    ("unavailable", 503),
    ("timeout", 504),
    ("not_found", 404),
    ("notfound", 404),
    ("invalid_request", 400),
    ("badrequest", 400),
    ("exceed_context_size", 400),
    ("context_length_exceeded", 400),
)


@attrs.frozen
class Report:
    """What an error body said: its sentence, its type and code words, and a status if it named one (else 0)."""

    message: str = ""
    word: str = ""
    status: int = 0


def failure(status: int, headers: Mapping[str, str], body: bytes, *, hide: Iterable[str] = ()) -> UpstreamError:
    """The error for an HTTP answer with an error status. `hide` are strings (keys, addresses) that must not get out."""
    report = _read_body(body)
    message = clean(report.message, hide) or f"the upstream answered {status} without a word"
    return _error(status, message, report.word, retry_after(headers))


def failure_in(value: Any) -> UpstreamError | None:
    """The error that a chunk or a 200 body carries, if it does."""
    if isinstance(value, dict) and not (value.get("error") or value.get("object") == "error"):
        choices = value.get("choices")
        if isinstance(choices, list):
            return _aborted(choices)
        if not isinstance(value.get("detail"), str | list) or "usage" in value:
            return None
    elif not isinstance(value, dict) and not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return None
    report = _report(value)
    status = report.status or _status_of(report.word) or 502
    return _error(status, clean(report.message) or "the upstream reported an error without a word", report.word, None)


def clean(text: str, hide: Iterable[str] = ()) -> str:
    """An upstream's sentence fit for a client: no key, no address, no trace, not endless."""
    text = _TRACE.sub("", text)
    for secret in hide:
        if secret:
            text = text.replace(secret, "[hidden]")
    text = _SECRETS.sub("[hidden]", text).strip()
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after` (seconds or a date); None when neither says."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
            return float(value) * factor
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _error(status: int, message: str, word: str, wait: float | None) -> UpstreamError:
    if status in (401, 403):
        # It is the gateway's key that was refused: a 401 would make the client doubt its own.
        return UpstreamError(
            f"the upstream refused the gateway's credentials: {message}", kind="api", status=502, should_retry=False
        )
    if status in _KINDS:
        spent = True if status == 402 or "insufficient_quota" in word else None
        return UpstreamError(message, kind=_KINDS[status], retry_after=wait, should_retry=False if spent else None)
    if 400 <= status < 500:
        return UpstreamError(message, kind="invalid_request", status=400)
    return UpstreamError(message, kind="api", status=500 if status == 500 else 502, retry_after=wait)


def _aborted(choices: list[Any]) -> UpstreamError | None:
    for choice in choices:
        if isinstance(choice, dict) and choice.get("finish_reason") in ABORTED:
            report = _report(choice)
            return UpstreamError(
                clean(report.message) or f"the upstream broke off its answer ({choice['finish_reason']})", status=502
            )
    return None


def _read_body(body: bytes) -> Report:
    text = body.decode("utf-8", "replace").strip()
    try:
        return _report(orjson.loads(body))
    except orjson.JSONDecodeError:
        pass
    if text.startswith("<"):
        title = _TITLE.search(text)
        return Report(" ".join(title.group(1).split()) if title else "the upstream answered with an HTML page")
    return Report(text)


def _report(value: Any) -> Report:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return Report(value)
    if not isinstance(value, dict):
        return Report(json.dumps(value) if value is not None else "")
    inner = value.get("error")
    if isinstance(inner, dict):
        value = {**value, **inner}
    message = next((said for key in ("message", "error", "detail", "msg") if (said := _said(value.get(key)))), "")
    word = " ".join(str(value[key]) for key in ("type", "code", "error_type", "status") if value.get(key)).lower()
    numbers = (value.get(key) for key in ("code", "status", "http_status_code", "status_code"))
    status = next((n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and 400 <= n <= 599), 0)
    return Report(message, word, status)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_detail, value)))
    if isinstance(value, dict):
        return _detail(value)
    return ""


def _detail(item: Any) -> str:
    """One entry of a FastAPI `detail` list: {"loc": […], "msg": …}."""
    if not isinstance(item, dict):
        return str(item)
    place = ".".join(str(part) for part in item.get("loc") or [] if part != "body")
    said = str(item.get("msg") or item.get("message") or item.get("detail") or json.dumps(item, default=str))
    return f"{place}: {said}" if place else said


def _status_of(word: str) -> int:
    flat = word.replace(" ", "")
    return next((status for part, status in _WORDS if part in flat), 0)
