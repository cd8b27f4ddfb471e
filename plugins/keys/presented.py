"""Where clients put their key: the header `x-api-key`, or `authorization: Bearer …`."""

from __future__ import annotations

from core import GatewayError, HTTPRequest
from plugins.keys.token import Token

_BLANKS = b" \t"


def presented(http: HTTPRequest) -> Token:
    """The one token that a request carries. Raises GatewayError (401) when there is none, or more than one.

    Empty headers count as none, and so does an `authorization` of another scheme, which is a proxy's on the way.
    """
    found = {value for name, data in http.headers if (value := _token(name, data))}
    if not found:
        raise refused("a key is needed: send it as x-api-key, or as authorization: Bearer KEY")
    if len(found) > 1:
        raise refused("the request carries several keys that differ; send one, as x-api-key or as authorization")
    return Token.of(found.pop())


def refused(message: str = "invalid x-api-key") -> GatewayError:
    """The error of a request without a valid key: the same words for an unknown key and a wrong one."""
    return GatewayError(message, kind="authentication", should_retry=False)


def _token(name: bytes, data: bytes) -> bytes:
    if name == b"x-api-key":
        return data.strip(_BLANKS)
    if name == b"authorization":
        scheme, _, token = data.strip(_BLANKS).partition(b" ")
        return token.strip(_BLANKS) if scheme.lower() == b"bearer" else b""
    return b""
