from __future__ import annotations

import orjson
import pytest

from plugins.anthropic.jsontext import dumps


def test_plain_values_are_written_as_they_are() -> None:
    assert dumps({"b": "é", "a": [1, None]}) == '{"b":"é","a":[1,null]}'.encode()


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert orjson.loads(dumps({"a\udc00": ["x\ud800y", 1]})) == {"a\ufffd": ["x\ufffdy", 1]}


def test_a_pair_of_surrogates_is_its_character() -> None:
    assert orjson.loads(dumps("\ud83d\ude00\ud83d")) == "😀\ufffd"


def test_a_fragment_survives_the_mending() -> None:
    assert dumps({"input": orjson.Fragment(b'{"n":1.0}'), "t": "\ud800"}).startswith(b'{"input":{"n":1.0},')


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(orjson.JSONEncodeError):
        dumps(object())
