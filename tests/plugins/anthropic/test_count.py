from __future__ import annotations

import pytest

from core import Stop, Text, UpstreamError, Usage
from plugins.anthropic.count import CountAnswer
from tests.plugins.anthropic.folding import HTTP


def test_the_count() -> None:
    answer = CountAnswer(HTTP)
    assert answer.feed([Usage(3), Text("x"), Usage(42, 7), Stop("end_turn")]) == b""
    assert answer.finish() == b'{"input_tokens":42}'
    assert answer.status == 200


def test_no_count_is_the_upstreams_failure() -> None:
    with pytest.raises(UpstreamError, match="no token count"):
        CountAnswer(HTTP).finish()
