from __future__ import annotations

from plugins.capture.masks import MASK, masked_headers, masked_pieces, masked_query, secrets_in


def test_headers_that_speak_of_secrets_lose_their_value() -> None:
    names = ["Authorization", "x-api-key", "Cookie", "set-cookie", "x-auth-token", "x-secret", "proxy-authorization"]
    assert masked_headers((name, "v") for name in names) == [(name, MASK) for name in names]
    kept = [("anthropic-version", "2023-06-01"), ("user-agent", "x"), ("content-type", "y")]
    assert masked_headers(kept) == kept


def test_a_query_is_masked_by_its_names() -> None:
    assert masked_query(b"beta=true") == "beta=true"
    assert masked_query(b"beta=&api_key=sesame&b=1") == "beta=&api_key=***&b=1"


def test_the_words_of_secret_headers_are_secrets() -> None:
    headers = [(b"authorization", b"Bearer sesame-open"), (b"user-agent", b"claude")]
    assert secrets_in(headers) == ["Bearer sesame-open", "Bearer", "sesame-open"]


def test_a_secret_is_masked_also_where_it_is_cut_and_the_cuts_stay() -> None:
    pieces = [b"a sesame", b"-open b", b"", b"sesame-open"]
    assert masked_pieces(pieces, ["sesame-open"]) == [b"a ******", b"***** b", b"", b"***********"]


def test_short_words_and_longer_ones_first() -> None:
    assert masked_pieces([b"true abcdefgh abcdefgh-ijk"], ["true", "abcdefgh", "abcdefgh-ijk"]) == [
        b"true ******** ************"
    ]
