from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.failures import clean
from core.chat.hiding import credentials_of, forms_of, secrets_of
from core.config import BackendConfig, Secret

KEY = "s/key+with=odd?>~characters 1234"
texts = st.text(st.characters(codec="utf-8"), min_size=8)


def hidden(text: str, secret: str = KEY) -> str:
    return clean(text, forms_of([secret]))


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY),
        quote(KEY, safe="")
        .replace("%2F", "%2f")
        .replace("%2B", "%2b")
        .replace("%3D", "%3d")
        .replace("%3F%3E", "%3f%3e"),
        b64encode(KEY.encode()).decode(),
        b64encode(KEY.encode()).decode().rstrip("="),
        urlsafe_b64encode(KEY.encode()).decode(),
    ],
)
def test_each_form_is_hidden_as_a_whole(form: str) -> None:
    assert hidden(f"no {form}, sorry") == "no [hidden], sorry"


@given(texts, st.binary(max_size=9), st.binary(max_size=9), st.booleans())
def test_it_is_found_wherever_it_lies_in_base64(secret: str, before: bytes, after: bytes, safe: bool) -> None:
    encode = urlsafe_b64encode if safe else b64encode
    text = encode(before + secret.encode() + after).decode()
    found = next(form for form in forms_of([secret]) if form in text)
    assert len(found) >= len(secret.encode()) * 4 // 3 - 2


@given(st.lists(st.text(min_size=1)))
def test_the_longest_comes_first_and_each_once(secrets: list[str]) -> None:
    forms = forms_of(secrets)
    assert set(secrets) <= set(forms)
    assert len(set(forms)) == len(forms)
    assert forms == sorted(forms, key=len, reverse=True)


def test_what_is_short_is_not_looked_for_within_other_text() -> None:
    assert hidden(b64encode(b"xnonex").decode(), "none") == b64encode(b"xnonex").decode()
    assert hidden(b64encode(b"none").decode(), "none") == "[hidden]"
    assert forms_of(["abc"]) == ["abc"]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://me:secret@host", ["me:secret", "secret"]),
        ("http://me:s%2Fecret@host", ["me:s/ecret", "s/ecret"]),
        ("http://me@host", []),
        ("http://token12345@host", ["token12345:", "token12345"]),
        ("http://host", []),
    ],
)
def test_the_credentials_of_a_url(url: str, found: list[str]) -> None:
    assert credentials_of(httpx.URL(url)) == found


def backend(**fields: object) -> BackendConfig:
    return BackendConfig("b", ("p",), **{"url": "http://host", **fields})  # type: ignore[arg-type]


PAIR = b64encode(b"me:open-sesame").decode()


@pytest.mark.parametrize(
    "table",
    [
        backend(url="http://me:open-sesame@host"),
        backend(proxy=Secret("http://me:open-sesame@proxy:8080")),
        backend(headers={"authorization": Secret(f"Basic {PAIR}")}),
        backend(key=Secret(f"basic  {PAIR}")),
    ],
)
@pytest.mark.parametrize(
    "form", [PAIR, "me:open-sesame", "open-sesame", b64encode(b"open-sesame").decode(), f"x{PAIR}"]
)
def test_basic_credentials_are_hidden_encoded_and_plain(table: BackendConfig, form: str) -> None:
    said = clean(f"refused: {form}.", secrets_of(table))
    assert form not in said
    assert said.endswith("[hidden].")


@pytest.mark.parametrize("value", ["Basic", "Basic ", "Basic ###", "Basic /w==", "basically"])
def test_what_is_no_basic_header_is_a_value_like_any(value: str) -> None:
    assert value in secrets_of(backend(headers={"x": Secret(value)}))


def test_words_of_values_are_secrets_by_themselves() -> None:
    secrets = secrets_of(backend(headers={"x": Secret("Token hush-hush-9876")}, query={"q": "querysecret77"}))
    assert {"Token hush-hush-9876", "hush-hush-9876", "querysecret77"} <= set(secrets)
    assert "Token" not in secrets
    assert secrets_of(BackendConfig("b", ("p",))) == []
