"""Every engine's failure, as an UpstreamError in the upstream's own words: what is told, and what is kept back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from core.chat.overflow import overflow
from core.chat.problems import Problem, Problems, seconds
from core.chat.reports import Report, is_report, read_body, report_of
from core.chat.text import loads, whole
from core.errors import Kind, UpstreamError

MESSAGE_LIMIT: Final = 2000
"""Characters of an upstream's message that are passed on."""

ABORTED: Final = frozenset({"error", "abort", "insufficient_system_resource"})
"""finish_reasons that mean: the engine gave up (OpenRouter, vLLM and SGLang, DeepSeek)."""

_SECRET_SIZE: Final = 4
"""Characters that make a configured value a secret; a shorter one is a flag or a number, which any text may hold."""

_SECRETS: Final = re.compile(
    r"\b(?:sk|pk|gsk|hf|key|xai)[-_](?=[\w*.-]*[\d*])[\w*.-]{6,}|\bAIza[\w-]{10,}"
    r"|\b(?i:bearer)\s+(?=[\w.~+/=*-]*[\d*])[\w.~+/=*-]{6,}"
)
_INNER: Final = re.compile(
    r"(?:\bhttps?://[\w.-]+(?=:\d)|(?:\bhttps?://)?(?<![\w.])(?:(?:127|10)(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}"
    r"|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|0\.0\.0\.0|localhost|\[::1?\])(?![\w-]|\.\w))"
    r"(?::\d+)?(?:/[^\s\"'<>)\]]*[^\s\"'<>)\].,:;])?"
)
"""An address inside the operator's network: of the upstream's, or of a server behind it."""
_TRACE: Final = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|\n\s*File \"[^\n]*\", line \d"
    r"|\n\s+at [^\n]*(?:\(|:\d+:\d+)|\bgoroutine \d+ \[).*",
    re.DOTALL,
)
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
_AGAIN: Final = {"true": True, "false": False}
"""OpenAI's word for its SDKs, which the Messages API's understand, too."""
_MAY_BE_LENGTH: Final = frozenset({0, 400, 413, 422, 500})
"""The statuses under which engines say that a prompt is too long; 0: an error in a stream, without one."""
_OURS: Final = frozenset({405, 407, 424, 499})
"""Client errors that are not the client's: wrong URL, credentials for the proxy, a failed generation (TGI, Groq)."""
_FAILED: Final = ("tool_use_failed", "json_validate_failed")
"""Codes of a 400 of Groq's that is no client error: the model wrote a call or JSON that cannot be read."""
_FLAGGED: Final = re.compile(r"\bflagged\b|\bmoderation\b", re.IGNORECASE)
_NO_INPUT: Final = re.compile(r"\b(?:image|audio|video) input is not supported", re.IGNORECASE)
"""llama.cpp's 500 for a request that its model cannot read."""
_WORDS: Final[tuple[tuple[str, int], ...]] = (
    ("insufficient_quota", 429),
    ("rate_limit", 429),
    ("ratelimit", 429),
    ("overloaded", 503),
    ("unavailable", 503),
    ("timeout", 504),
    ("billing", 402),
    ("too_large", 413),
    ("not_found", 404),
    ("notfound", 404),
    ("unauthorized", 401),
    ("authentication", 401),
    ("invalid_api_key", 401),
    ("permission", 403),
    ("invalid_request", 400),
    ("badrequest", 400),
    ("validation", 400),
    ("exceed_context_size", 400),
    ("context_length_exceeded", 400),
)


def failure(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    hide: Iterable[str] = (),
    asked: int = 0,
    problem: Problems | None = None,
) -> UpstreamError:
    """The error for an HTTP answer with an error status. `hide` are strings (keys, addresses) that must not get out.

    `asked` is the token limit of the request (0: not known), which few engines repeat. `problem` reads what the engine
    says in its own way.
    """
    told = problem(_value(body), headers) if problem is not None else None
    report = _own(told) if told is not None else read_body(body)
    message = clean(report.message, hide) or f"the upstream answered {status} without a word"
    wait = told.retry_after if told is not None else None
    if told is not None:
        status = report.status or _status_of(report.word) or status
    error = _error(status, message, report, retry_after(headers) if wait is None else wait, asked)
    if error.should_retry is None:
        error.should_retry = _AGAIN.get(headers.get("x-should-retry", ""))
    return error


def failure_in(
    value: Any,
    hide: Iterable[str] = (),
    *,
    problem: Problems | None = None,
    headers: Mapping[str, str] | None = None,
) -> UpstreamError | None:
    """The error that a chunk or a 200 body carries, if it does; `headers` are the HTTP answer's, for `problem`."""
    told = problem(value, headers or {}) if problem is not None else None
    if told is not None:
        report = _own(told)
    elif isinstance(value, dict) and not is_report(value):
        return _aborted(value.get("choices"), hide)
    elif not isinstance(value, dict) and not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return None
    else:
        report = report_of(value)
    message = clean(report.message, hide) or "the upstream reported an error without a word"
    wait = told.retry_after if told is not None else None
    return _error(report.status or _status_of(report.word), message, report, wait)


def clean(text: str, hide: Iterable[str] = ()) -> str:
    """An upstream's sentence fit for a client: no key, no address, no trace, not endless."""
    text = _TRACE.sub("", whole(text))
    for secret in hide:
        if len(secret) >= _SECRET_SIZE:
            text = text.replace(secret, "[hidden]")
    text = _INNER.sub("[hidden]", _SECRETS.sub("[hidden]", text)).strip()
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after` (seconds or a date); None when neither says."""
    milliseconds = seconds(headers.get("retry-after-ms"))
    return seconds(headers.get("retry-after")) if milliseconds is None else milliseconds * 0.001


def _own(told: Problem) -> Report:
    return Report(told.message, told.word, told.status)


def _value(body: bytes) -> Any:
    try:
        return loads(body)
    except ValueError:
        return body.decode("utf-8-sig", "replace")


def _error(status: int, message: str, report: Report, wait: float | None = None, asked: int = 0) -> UpstreamError:
    too_long = overflow(message, report.word, report.fields, asked) if status in _MAY_BE_LENGTH else None
    if too_long is not None:
        return UpstreamError(too_long, kind="invalid_request", status=400)
    if any(code in report.word for code in _FAILED):
        return UpstreamError(message, kind="api", status=502, retry_after=wait)
    if _NO_INPUT.search(message) or (status == 403 and _FLAGGED.search(message)):
        # OpenRouter's moderation answers 403: it is the client's prompt that was refused, not the gateway's key.
        return UpstreamError(message, kind="invalid_request", status=400)
    if status in (401, 403):
        # It is the gateway's key that was refused: a 401 would make the client doubt its own.
        return UpstreamError(
            f"the upstream refused the gateway's credentials: {message}", kind="api", status=502, should_retry=False
        )
    if status in _KINDS:
        spent = True if status == 402 or "insufficient_quota" in report.word else None
        return UpstreamError(message, kind=_KINDS[status], retry_after=wait, should_retry=False if spent else None)
    if 400 <= status < 500 and status not in _OURS:
        return UpstreamError(message, kind="invalid_request", status=400)
    return UpstreamError(message, kind="api", status=500 if status == 500 else 502, retry_after=wait)


def _aborted(choices: Any, hide: Iterable[str]) -> UpstreamError | None:
    for choice in choices if isinstance(choices, list) else []:
        finish = choice.get("finish_reason") if isinstance(choice, dict) else None
        if isinstance(finish, str) and finish in ABORTED:
            report = report_of(choice.get("error"))
            message = clean(report.message, hide) or f"the upstream broke off its answer ({finish})"
            return _error(report.status, message, report)
    return None


def _status_of(word: str) -> int:
    flat = word.replace(" ", "")
    return next((status for part, status in _WORDS if part in flat), 0)
