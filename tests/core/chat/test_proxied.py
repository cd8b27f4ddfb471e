from __future__ import annotations

import ssl

import aiohttp
import httpx
import pytest

from core.chat.proxied import _as_httpx, meaning


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def key() -> aiohttp.client_reqrep.ConnectionKey:
    return aiohttp.client_reqrep.ConnectionKey("host", 443, True, True, None, None, None)


ERRORS: list[tuple[Exception, type[Exception]]] = [
    (caused(httpx.ConnectError(""), aiohttp.ClientConnectorError(key(), OSError())), httpx.ConnectError),
    (caused(httpx.ConnectTimeout(""), aiohttp.ClientConnectorDNSError(key(), OSError())), httpx.ConnectError),
    (caused(httpx.ProxyError(""), aiohttp.ClientProxyConnectionError(key(), OSError())), httpx.ConnectError),
    (httpx.ConnectError("all attempts failed"), httpx.ConnectError),
    (caused(httpx.TimeoutException(""), aiohttp.ConnectionTimeoutError()), httpx.ConnectTimeout),
    (httpx.ConnectTimeout(""), httpx.ConnectTimeout),
    (caused(httpx.ReadTimeout(""), aiohttp.SocketTimeoutError()), httpx.ReadTimeout),
    (httpx.ReadTimeout(""), httpx.ReadTimeout),
    (TimeoutError(), httpx.ReadTimeout),
    (caused(httpx.ConnectTimeout(""), aiohttp.ServerDisconnectedError()), httpx.ReadError),
    (caused(httpx.ConnectTimeout(""), aiohttp.ClientOSError()), httpx.ReadError),
    (caused(httpx.ReadError(""), aiohttp.ClientPayloadError()), httpx.ReadError),
    (aiohttp.ClientError(), httpx.ReadError),
    (ConnectionResetError(), httpx.ReadError),
]


@pytest.mark.parametrize(("error", "wanted"), ERRORS)
def test_each_exception_becomes_httpx_s_own(error: Exception, wanted: type[Exception]) -> None:
    assert type(meaning(error)) is wanted


@pytest.mark.parametrize(
    "cause",
    [
        aiohttp.ClientConnectorSSLError(key(), OSError()),
        aiohttp.ClientConnectorCertificateError(key(), ssl.CertificateError()),
        ssl.SSLError(),
    ],
)
def test_a_fault_of_tls_is_told_as_one(cause: Exception) -> None:
    with pytest.raises(httpx.TransportError) as caught, _as_httpx():
        raise caused(httpx.ConnectTimeout(""), cause)
    assert isinstance(caught.value.__cause__, ssl.SSLError)


def test_other_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), _as_httpx():
        raise ZeroDivisionError
