from hypothesis import given
from hypothesis import strategies as st

from plugins.demo import tokens


def test_words_and_signs_are_tokens() -> None:
    assert tokens.split("Count to 10, please!") == ["Count", " to", " 10", ",", " please", "!"]


def test_space_at_the_end_is_a_token() -> None:
    assert tokens.split("a \n") == ["a", " \n"]


def test_a_long_word_is_several_tokens() -> None:
    assert [len(token) for token in tokens.split("x" * 30)] == [12, 12, 6]


@given(st.text())
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens.split(text)) == text
    assert tokens.count(text) == len(tokens.split(text))


def test_strings_finds_keys_and_values_in_order() -> None:
    assert list(tokens.strings({"a": ["b", {"c": "d"}, 1, None], "e": "f"})) == ["a", "b", "c", "d", "e", "f"]


def test_strings_takes_any_depth() -> None:
    value: object = "deep"
    for _ in range(100_000):
        value = [value]
    assert list(tokens.strings(value)) == ["deep"]
