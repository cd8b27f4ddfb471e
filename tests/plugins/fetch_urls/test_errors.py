from __future__ import annotations

from plugins.fetch_urls.errors import NO_ADDRESS, BusyError, FetchError, LimitError


def test_what_says_nothing_of_the_file_is_told_apart() -> None:
    assert issubclass(LimitError, FetchError)
    assert issubclass(BusyError, LimitError)
    assert not isinstance(FetchError("x"), LimitError)


def test_one_sentence_for_no_name_and_for_a_name_inside() -> None:
    assert NO_ADDRESS == "its host has no public address"
