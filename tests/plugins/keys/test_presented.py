from __future__ import annotations

import pytest

from core import GatewayError
from plugins.keys.presented import presented
from plugins.keys.token import Token
from tests.plugins.keys.samples import http_with

KEY = b"hl-0123456789-secret_of-43"
TOKEN = Token("0123456789", b"secret_of-43")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-api-key", KEY)],
        [(b"x-api-key", b" \t" + KEY + b"  ")],
        [(b"authorization", b"Bearer " + KEY)],
        [(b"authorization", b"bEARER   " + KEY + b" ")],
        [(b"x-api-key", KEY), (b"authorization", b"Bearer " + KEY)],
        [(b"x-api-key", KEY), (b"x-api-key", KEY)],
        [(b"x-api-key", b""), (b"authorization", b"Bearer " + KEY)],
        [(b"x-api-key", KEY), (b"authorization", b"Basic dXNlcjpwYXNz")],
        [(b"x-api-key", KEY), (b"authorization", b"Bearer ")],
    ],
)
def test_one_key_in_either_header_or_in_both(headers: list[tuple[bytes, bytes]]) -> None:
    assert presented(http_with(*headers)) == TOKEN


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"x-api-key", b"")],
        [(b"x-api-key", b" \t ")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", KEY)],
        [(b"authorization", b"Basic " + KEY)],
        [(b"authorization", b"Bearer\t" + KEY)],
        [(b"api-key", KEY)],
        [(b"cookie", b"x-api-key=" + KEY)],
    ],
)
def test_no_key_is_a_401_that_says_where_to_put_one(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(GatewayError, match="a key is needed") as caught:
        presented(http_with(*headers))
    assert (caught.value.status, caught.value.kind, caught.value.should_retry) == (401, "authentication", False)


@pytest.mark.parametrize("other", [b"hl-0123456789-other", b"none", KEY + b"x", KEY.upper()])
def test_keys_that_differ_are_refused_whichever_is_right(other: bytes) -> None:
    for headers in (
        [(b"x-api-key", KEY), (b"x-api-key", other)],
        [(b"x-api-key", other), (b"x-api-key", KEY)],
        [(b"x-api-key", KEY), (b"authorization", b"Bearer " + other)],
        [(b"authorization", b"Bearer " + KEY), (b"authorization", b"Bearer " + other)],
    ):
        with pytest.raises(GatewayError, match="several keys that differ") as caught:
            presented(http_with(*headers))
        assert (caught.value.status, caught.value.should_retry) == (401, False)
        assert KEY.decode() not in caught.value.message


@pytest.mark.parametrize("value", [b"\xe9\xff", "ключ".encode(), b"\x00", b"a" * 60_000, b"%00%0a"])
def test_odd_bytes_are_a_token_of_nobody(value: bytes) -> None:
    assert presented(http_with((b"x-api-key", value))) == Token()
