"""Thinking and effort: how much the model shall reason, in the engine's own fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from core.chat.dialect import Dialect
from core.request import Request

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All values of `reasoning_effort`, weakest first."""

_BUDGETS: Final = ((2048, "low"), (8192, "medium"), (24576, "high"))
"""The efforts that budgets up to so many tokens stand for."""


def thinking_fields(request: Request, dialect: Dialect, limit: int | None) -> dict[str, Any]:
    """The body's fields for the request's thinking and effort; `limit` is the token limit that is sent.

    Thinking that is switched off wins over an effort; without thinking, the effort alone is sent.
    """
    thinking = request.thinking
    efforts = dialect.efforts if dialect.takes("reasoning_effort") else ()
    if thinking is not None and thinking.mode in ("disabled", "between_tools"):
        weakest = {"reasoning_effort": min(efforts, key=_rank)} if efforts else {}
        return dict(dialect.thinking_off) or weakest
    out: dict[str, Any] = {}
    budget_field = dialect.thinking_budget_field if dialect.takes(dialect.thinking_budget_field) else ""
    budget = thinking.budget_tokens if thinking else 0
    effort = request.effort or (effort_of(budget) if budget and not budget_field else None)
    if effort and efforts:
        out["reasoning_effort"] = nearest(effort, efforts)
    if budget and budget_field:
        out[budget_field] = _share(budget, request.max_tokens, limit)
    if thinking is not None:
        out.update((key, value) for key, value in dialect.thinking_on.items() if key not in out)
    return out


def effort_of(budget_tokens: int) -> str:
    """The effort that a thinking budget stands for, where an engine has no field for a budget."""
    return next((effort for most, effort in _BUDGETS if budget_tokens <= most), "xhigh")


def nearest(effort: str, known: Iterable[str]) -> str:
    """The strongest known effort that is not above the one asked for, else the weakest known.

    "none" is no answer to a wish for little, unless it is all there is; a word of the engine's own stands above all.
    """
    ranked = sorted(known, key=_rank)
    working = [value for value in ranked if value != "none"] or ranked
    fitting = [value for value in working if _rank(value) <= _rank(effort)]
    return fitting[-1] if fitting else working[0]


def _rank(effort: str) -> int:
    return EFFORTS.index(effort) if effort in EFFORTS else len(EFFORTS)


def _share(budget: int, asked: int | None, limit: int | None) -> int:
    """The budget, made smaller with the token limit, so that an answer still fits behind the thinking."""
    if not asked or limit is None or limit >= asked:
        return budget
    return max(1, budget * limit // asked)
