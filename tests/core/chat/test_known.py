from __future__ import annotations

from core.chat import LLAMA_CPP
from core.chat.dialect import Dialect


def test_llama_cpp_is_asked_for_the_stop_that_matched() -> None:
    assert isinstance(LLAMA_CPP, Dialect)
    assert LLAMA_CPP.extra == {"verbose": True}
    assert "tool" not in LLAMA_CPP.tool_choice
