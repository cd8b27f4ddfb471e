"""Dialects that more than one plugin speaks."""

from __future__ import annotations

from typing import Final

from core.chat.dialect import Dialect

LLAMA_CPP: Final = Dialect(
    max_stops=None,
    stop_report="match",
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_budget_field="thinking_budget_tokens",
    tool_choice=("auto", "any", "none"),
    schema_with_tools=False,
    extra={"verbose": True},
    count="input_tokens",
)
"""llama.cpp's server (recorded and run: 0c1e570, 2026-10); a named tool choice is ignored there.

A schema beside tools is obeyed, and no tool ever called, not even with `required` (run: xllamacpp 2026.10).
"""
