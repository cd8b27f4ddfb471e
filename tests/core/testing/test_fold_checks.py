from __future__ import annotations

import pytest

from core.testing.fold_checks import breach, check_foreign, check_usage, need, parse, parse_arguments


def test_need_and_breach_raise_their_sentence() -> None:
    need(1, "not raised")
    with pytest.raises(AssertionError, match="said"):
        need([], "said")
    with pytest.raises(AssertionError, match="said"):
        breach("said")


def test_foreign_names_are_found_at_any_depth_but_not_in_a_tools_input() -> None:
    check_foreign({"content": [{"type": "tool_use", "input": {"object": {"choices": 1}}}]}, "here")
    with pytest.raises(AssertionError, match="here has the upstream's field object"):
        check_foreign({"content": [{"type": "text", "input": {"object": 1}}]}, "here")


@pytest.mark.parametrize("count", [-1, True, 1.5, None, "3"])
def test_counts_are_integers_from_zero(count: object) -> None:
    check_usage({"input_tokens": 0, "output_tokens": 1}, "here")
    with pytest.raises(AssertionError, match="must be a count"):
        check_usage({"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": count}, "here")


def test_parse_arguments() -> None:
    assert parse_arguments("") == {}
    assert parse_arguments('{"a": [1]}') == {"a": [1]}
    assert parse_arguments("[1]") == {"unparsed_arguments": "[1]"}


def test_parse_quotes_what_is_no_json() -> None:
    with pytest.raises(AssertionError, match="the body is no JSON"):
        parse(b"<html>", "the body")
