from __future__ import annotations

import httpx
import pytest

from plugins.fetch_urls.errors import CAUSE, NO_ADDRESS, BusyError, FetchError, LimitError, cause_of


def test_what_says_nothing_of_the_file_is_told_apart() -> None:
    assert issubclass(LimitError, FetchError)
    assert issubclass(BusyError, LimitError)
    assert not isinstance(FetchError("x"), LimitError)


def test_one_sentence_for_no_name_and_for_a_name_inside() -> None:
    assert NO_ADDRESS == "its host has no public address"


def caused(*causes: BaseException) -> FetchError:
    error: BaseException = FetchError("it is so")
    first = error
    for cause in causes:
        error.__cause__ = cause
        error = cause
    assert isinstance(first, FetchError)
    return first


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (caused(), ""),
        (caused(OSError("no such name")), "OSError: no such name"),
        (caused(httpx.ConnectError("refused"), OSError("[Errno 111] refused")), "OSError: [Errno 111] refused"),
        (caused(httpx.ReadTimeout("silence")), "ReadTimeout: silence"),
        (caused(ValueError("https://a.example/?signature=secret")), ""),
        (caused(OSError("x" * 1000)), f"OSError: {'x' * (CAUSE - 9)}…"),
    ],
)
def test_what_was_behind_it_is_for_the_log(error: FetchError, told: str) -> None:
    assert cause_of(error) == told
