from __future__ import annotations

import hashlib
import hmac

import pytest

from plugins.keys.token import LONGEST, NOBODY, Token, hash_of, new_token


def test_a_new_token_has_its_form_and_256_random_bits() -> None:
    token = new_token()
    prefix, name, secret = token.text.split("-", 2)
    assert (prefix, name, len(name)) == ("hl", token.id, 10)
    assert secret.encode() == token.secret
    assert len(secret) * 6 >= 256
    assert len({new_token().text for _ in range(100)}) == 100


def test_it_is_read_back_also_with_dashes_in_the_secret() -> None:
    for secret in (b"a-b-c", b"-", new_token().secret):
        token = Token("abcd", secret)
        assert Token.of(token.text.encode()) == token


@pytest.mark.parametrize(
    "data", [b"", b"hl", b"hl-", b"hl--x", b"hl-a", b"hl-a-", b"HL-a-b", b"sk-a-b", b"none", b"\xff\xfe", b"\x00"]
)
def test_what_is_no_key_has_no_id(data: bytes) -> None:
    assert Token.of(data) == Token()


def test_a_token_of_60_kilobytes_is_not_looked_at() -> None:
    assert Token.of(b"hl-a-" + b"x" * 60_000) == Token()
    assert Token.of(b"hl-a-".ljust(LONGEST, b"x")).id == "a"


def test_only_its_own_hash_matches() -> None:
    token = new_token()
    assert token.matches(hashlib.sha256(token.secret).hexdigest())
    assert not token.matches(hash_of(token.secret[:-1]))
    assert not token.matches(NOBODY)
    assert not Token().matches(NOBODY)


def test_the_comparison_does_not_tell_how_much_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    true = hmac.compare_digest

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return true(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    token = new_token()
    for expected in (hash_of(token.secret), NOBODY, "f" * 64):
        token.matches(expected)
    assert [len(one) for one, _ in compared] == [64, 64, 64]


def test_no_repr_shows_the_secret() -> None:
    token = new_token()
    assert token.secret.decode() not in repr(token)
