from __future__ import annotations

from typing import Any

import pytest

from core.chat.assistant import assistant_message, own_text
from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.tool_ids import ToolIds
from core.deltas import State
from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

CALL = ToolUseBlock("c0", "f", {"a": 1})
SENT_CALL = {"id": "c0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
THOUGHTS = (ThinkingBlock("t1", "sig"), RedactedThinkingBlock("r"), ThinkingBlock("t2"))


def message(*blocks: Block | str, dialect: Dialect | None = None) -> dict[str, Any] | None:
    dialect = dialect or Dialect()
    placed = [(TextBlock(each) if isinstance(each, str) else each, (0, at)) for at, each in enumerate(blocks)]
    return assistant_message(placed, dialect, ToolIds(dialect.tool_id_pattern))


# --- text and calls ---


@pytest.mark.parametrize(
    ("blocks", "content"),
    [
        (("a",), "a"),
        (("a", "b"), "ab"),
        ((" ",), " "),
        ((DocumentBlock(text="d", title="T"), "a"), "T\n\nda"),
        ((SearchResultBlock("s", "T", (TextBlock("a"),)),), "[T] (s)\na"),
        ((OtherBlock("compaction", {"content": "so far"}), "a"), "so fara"),
        ((OtherBlock("x", {"id": "1"}), "a"), "a"),
    ],
)
def test_text(blocks: tuple[Block | str, ...], content: str) -> None:
    assert message(*blocks) == {"role": "assistant", "content": content}


@pytest.mark.parametrize("blocks", [(), ("",), THOUGHTS, (OtherBlock("x", {}),)])
def test_nothing_said(blocks: tuple[Block | str, ...]) -> None:
    assert message(*blocks, dialect=Dialect(reasoning_history="reasoning", reasoning_required=True)) is None


def test_a_turn_of_calls_alone_has_content_null() -> None:
    assert message(CALL, ToolUseBlock("c1", "a.tool")) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            SENT_CALL,
            {"id": "c1", "type": "function", "function": {"name": alias("a.tool", 64), "arguments": "{}"}},
        ],
    }


@pytest.mark.parametrize("block", [ImageBlock(url="u:"), DocumentBlock(content=(ImageBlock(url="u:"),))])
def test_what_the_model_cannot_have_said_is_refused(block: Block) -> None:
    with pytest.raises(RequestError, match=r"^messages\.0\.content\.1: this kind of block cannot be sent"):
        message("a", block)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (OtherBlock("x", {"text": "a", "content": "b"}), "a"),
        (OtherBlock("x", {"text": None, "content": "b"}), "b"),
        (OtherBlock("x", {"content": [{"type": "y"}]}), ""),
        (TextBlock("a"), ""),
    ],
)
def test_the_own_text_of_a_block_nobody_knows(block: Block, text: str) -> None:
    assert own_text(block) == text


# --- reasoning ---


@pytest.mark.parametrize(
    ("history", "fields"),
    [
        ("", {"content": "ab"}),
        ("reasoning", {"content": "ab", "reasoning": "t1t2"}),
        ("reasoning_content", {"content": "ab", "reasoning_content": "t1t2"}),
        ("think_tags", {"content": "<think>\nt1t2\n</think>\n\nab"}),
        (
            "parts",
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "t1t2"}]},
                    {"type": "text", "text": "ab"},
                ]
            },
        ),
    ],
)
def test_earlier_thinking_goes_where_the_dialect_wants_it(history: str, fields: dict[str, Any]) -> None:
    dialect = Dialect(reasoning_history=history)
    assert message(*THOUGHTS, "a", "b", dialect=dialect) == {"role": "assistant", **fields}
    assert message("a", "b", dialect=dialect) == {"role": "assistant", "content": "ab"}


def test_parts_keep_the_order_of_thinking_and_text() -> None:
    found = message(ThinkingBlock("t"), "a", ThinkingBlock("u"), CALL, dialect=Dialect(reasoning_history="parts"))
    assert found is not None
    assert [part["type"] for part in found["content"]] == ["thinking", "text", "thinking"]
    assert found["tool_calls"] == [SENT_CALL]


@pytest.mark.parametrize(
    ("history", "content"),
    [
        ("think_tags", "<think>\nt\n</think>\n\n"),
        ("parts", [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]),
        ("reasoning", None),
    ],
)
def test_a_call_keeps_its_thinking(history: str, content: Any) -> None:
    found = message(ThinkingBlock("t"), CALL, dialect=Dialect(reasoning_history=history))
    assert found is not None
    assert found["content"] == content


@pytest.mark.parametrize(
    ("blocks", "reasoning"), [((CALL,), ""), ((ThinkingBlock("t"), CALL), "t"), (("a",), None), (THOUGHTS, None)]
)
def test_reasoning_that_is_required_of_calls(blocks: tuple[Block | str, ...], reasoning: str | None) -> None:
    found = message(*blocks, dialect=Dialect(reasoning_history="reasoning_content", reasoning_required=True))
    assert (found or {}).get("reasoning_content") == reasoning


# --- what the engine wants back ---

FIRST = State({"details": [{"n": 1}], "note": "a", "other": 1}, {"c0": {"extra": {"sign": "x"}, "other": 1}})
SECOND = State({"details": [{"n": 2}], "note": "b"}, {"c1": {"extra": {"sign": "y"}}})
KEEPER = Dialect(keep=("details", "note"), keep_in_calls=("extra",))


def test_kept_fields_go_back_with_the_turn_and_its_calls() -> None:
    states = (ThinkingBlock("t", state=FIRST), ThinkingBlock("", state=SECOND))
    assert message(*states, "a", CALL, ToolUseBlock("c1", "g"), dialect=KEEPER) == {
        "role": "assistant",
        "content": "a",
        "details": [{"n": 1}, {"n": 2}],
        "note": "b",
        "tool_calls": [
            {**SENT_CALL, "extra": {"sign": "x"}},
            {"id": "c1", "type": "function", "function": {"name": "g", "arguments": "{}"}, "extra": {"sign": "y"}},
        ],
    }


def test_kept_fields_go_only_to_an_engine_that_wants_them() -> None:
    assert message(ThinkingBlock("t", state=FIRST), CALL) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [SENT_CALL],
    }


def test_a_call_s_state_is_found_by_the_id_that_the_client_knows() -> None:
    dialect = Dialect(keep_in_calls=("extra",), tool_id_pattern="[a-z]{3}[0-9]{6}|[a-z0-9]{9}")
    found = message(ThinkingBlock("", state=FIRST), CALL, dialect=dialect)
    assert found is not None
    (call,) = found["tool_calls"]
    assert call["extra"] == {"sign": "x"}
    assert len(call["id"]) == 9


def test_a_kept_field_is_not_changed_by_a_later_turn() -> None:
    message(ThinkingBlock("", state=FIRST), ThinkingBlock("", state=SECOND), "a", dialect=KEEPER)
    assert FIRST.message["details"] == [{"n": 1}]
