"""Errors as the API tells them: status, headers, envelope. And what all answers that are one JSON body share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import attrs

from core import Delta, GatewayError, HTTPRequest, Kind
from plugins.anthropic.endpoints import find
from plugins.anthropic.jsontext import dumps

Headers = Sequence[tuple[bytes, bytes]]

TYPES: Final[dict[Kind, str]] = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "billing": "billing_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "method_not_allowed": "invalid_request_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "api": "api_error",
    "timeout": "timeout_error",
    "overloaded": "overloaded_error",
    "not_supported": "not_supported",
}
"""The API's word for each kind of error."""


def error_value(http: HTTPRequest, error: GatewayError) -> dict[str, Any]:
    """The envelope, which is also the data of a stream's `error` event."""
    told: dict[str, Any] = {"type": TYPES[error.kind], "message": error.message}
    if error.code:
        told["details"] = {"error_code": error.code}
    return {"type": "error", "error": told, "request_id": http.id}


def error_headers(http: HTTPRequest, error: GatewayError) -> Headers:
    """The headers of an error: when and whether to try again, and which methods there are."""
    headers = list(json_headers(http))
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(0, math.ceil(error.retry_after))))
    if error.should_retry is not None:
        headers.append((b"x-should-retry", b"true" if error.should_retry else b"false"))
    if error.kind == "method_not_allowed" and (endpoint := find(http.path)):
        headers.append((b"allow", ", ".join(endpoint.methods).encode()))
    return headers


def json_headers(http: HTTPRequest) -> Headers:
    """The headers of every JSON answer."""
    return ((b"content-type", b"application/json"), (b"request-id", http.id.encode("latin-1", "replace")))


@attrs.define(eq=False)
class JSONAnswer:
    """An answer that is one JSON body, sent when it is finished. As it stands it can only fail."""

    http: HTTPRequest
    status: int = attrs.field(init=False, default=200)
    headers: Headers = attrs.field(init=False)

    @headers.default
    def _json(self) -> Headers:
        return json_headers(self.http)

    def feed(self, deltas: Sequence[Delta]) -> bytes:  # noqa: ARG002
        """Nothing goes out before the end."""
        return b""

    def ping(self) -> bytes:
        """A JSON body has no way to show life."""
        return b""

    def finish(self) -> bytes:
        """Raises RuntimeError: there is no request to answer."""
        raise RuntimeError("only fail() can answer a request that was not understood")

    def fail(self, error: GatewayError) -> bytes:
        """The envelope; sets status and headers."""
        self.status = error.status
        self.headers = error_headers(self.http, error)
        return dumps(error_value(self.http, error))
