"""Every error hookline answers with or stops on; the client's protocol turns a `kind` into its own word."""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal[
    "invalid_request",
    "authentication",
    "billing",
    "permission",
    "not_found",
    "method_not_allowed",
    "too_large",
    "rate_limit",
    "api",
    "timeout",
    "overloaded",
    "not_supported",
]

STATUS: Final[dict[Kind, int]] = {
    "invalid_request": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "rate_limit": 429,
    "api": 500,
    "timeout": 504,
    "overloaded": 529,
    "not_supported": 501,
}


class GatewayError(Exception):
    """An error with a sentence for the client.

    `kind` is protocol-neutral, `status` the HTTP status (the kind's own when not given), `retry_after` is in seconds,
    `should_retry` tells an SDK outright (None: it decides by the status), `code` is a word that clients act on ("" for
    none). `message` reaches the client as it is: no secret, no upstream address and no trace may be in it.
    """

    default_kind: Kind = "api"

    def __init__(
        self,
        message: str,
        *,
        kind: Kind | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        should_retry: bool | None = None,
        code: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind: Kind = kind or self.default_kind
        self.status = status or STATUS[self.kind]
        self.retry_after = retry_after
        self.should_retry = should_retry
        self.code = code


class RequestError(GatewayError):
    """The client asked for something that cannot be done; `message` starts with the path of the fault."""

    default_kind: Kind = "invalid_request"


class UpstreamError(GatewayError):
    """The upstream refused, failed, or broke off its answer."""

    default_kind: Kind = "api"


class ConfigError(GatewayError):
    """pipelines.toml cannot be served; the text is one line that names file, table, key and remedy."""

    def __init__(self, message: str, *, file: str = "", table: str = "", key: str = "", hint: str = "") -> None:
        place = " ".join(part for part in (f"[{table}]" if table else "", f"key {key!r}" if key else "") if part)
        text = ": ".join(part for part in (file, place, message) if part)
        super().__init__(" ".join(f"{text}; {hint}".split()) if hint else " ".join(text.split()))
        self.file, self.table, self.key, self.hint = file, table, key, hint
