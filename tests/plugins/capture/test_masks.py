from __future__ import annotations

import pytest

from plugins.capture.masks import MASK, Masks, keys_in, masked_headers, masked_path, masked_query, secrets_in


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
    assert Masks(["sesame-open"]).pieces(pieces) == [b"a ******", b"***** b", b"", b"***********"]


def test_short_words_and_longer_ones_first() -> None:
    masks = Masks(["true", "abcdefgh", "abcdefgh-ijk"])
    assert masks.pieces([b"true abcdefgh abcdefgh-ijk"]) == [b"true ******** ************"]


def test_a_secret_that_is_cut_by_a_write_is_masked_on_both_sides() -> None:
    masks = Masks(["sesame-open"])
    assert masks.pieces([b"a ses", b"ame-"], cut=True) == [b"a ***", b"****"]
    assert masks.pieces([b"open b"], before=b"a sesame-") == [b"**** b"]
    assert masks.pieces([b"a ses"], cut=True) == [b"a ses"]
    assert masks.pieces([b"a sesame"]) == [b"a sesame"]


def test_a_secret_is_found_as_json_and_as_a_url_have_it() -> None:
    masks = Masks(['se"same/öpen'])
    for form in ('se"same/öpen', 'se\\"same/öpen', 'se\\"same/\\u00f6pen', "se%22same%2F%C3%B6pen"):
        assert masks.pieces([form.encode()]) == [b"*" * len(form.encode())]


def test_values_of_all_kinds_lose_their_secrets() -> None:
    value = {"a": ["x sesame-open", ("sesame-open", 5)], "b": {"c": "sesame-open"}, "d": None, "e": "\ud83e"}
    stars = "*" * 11
    assert Masks(["sesame-open"]).value(value) == {
        "a": [f"x {stars}", [stars, 5]],
        "b": {"c": stars},
        "d": None,
        "e": "\ud83e",
    }


def test_parameters_that_speak_of_secrets_are_some() -> None:
    assert secrets_in((), b"sig=sesame-open&assign=b") == ["sesame-open", "sesame-open"]
    assert masked_query(b"sig=abc&assign=b") == "sig=***&assign=b"


def test_our_own_keys_are_found_wherever_they_stand() -> None:
    key = "hl-0123456789-abcdefghij_klm-nop"
    assert keys_in(f"/v1/{key}/messages".encode(), b'{"model": "' + key.encode() + b'"}', b"html-x") == [key, key]
    assert keys_in(b"hl-", b"hl-short-x", b"") == []


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/models/a%2Fb", "/v1/models/a%2Fb"),
        ("/v1/models/hl%2D0123456789%2dabcdefghijklmn/x", f"/v1/models/{MASK}/x"),
        ("/v1/hl-0123456789-abcdefghijklmn", f"/v1/{MASK}"),
    ],
)
def test_a_key_in_a_path_is_masked_behind_escapes_too(path: str, told: str) -> None:
    assert masked_path(path) == told
