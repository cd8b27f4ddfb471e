from __future__ import annotations

from typing import Any

import pytest
from cattrs.errors import BaseValidationError

from core import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from plugins.anthropic.blocks import content_hook, system_hook
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.structure import new_converter

IMAGE = {"type": "image", "source": {"type": "url", "url": "u"}}
DOCUMENT = {"type": "document", "source": {"type": "text", "data": "d"}}
SEARCH = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}
STATE = {"type": "browser_state", "tabs": []}


def content(value: Any) -> Any:
    return content_hook(new_converter())(value, None)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": " ", "citations": None, "cache_control": {"type": "ephemeral"}}, TextBlock(" ")),
        ({"type": "text", "text": ""}, TextBlock("")),
        (IMAGE, ImageBlock(url="u")),
        (DOCUMENT, DocumentBlock(text="d")),
        (SEARCH, SearchResultBlock("s", "t", (TextBlock("x"),))),
        ({"type": "tool_use", "id": "i", "name": "n", "input": {"a": 1}, "k": 1}, ToolUseBlock("i", "n", {"a": 1})),
        ({"type": "tool_use", "id": "i", "name": "n", "input": None}, ToolUseBlock("i", "n")),
        ({"type": "thinking", "thinking": "", "signature": "s"}, ThinkingBlock("", "s")),
        ({"type": "thinking", "thinking": "t"}, ThinkingBlock("t")),
        ({"type": "redacted_thinking", "data": "d"}, RedactedThinkingBlock("d")),
        ({"type": "tool_reference", "tool_name": "n"}, ToolReferenceBlock("n")),
        (STATE, OtherBlock("browser_state", STATE)),
        ({"type": "tool_result", "tool_use_id": "i"}, ToolResultBlock("i")),
        ({"type": "tool_result", "tool_use_id": "i", "content": None, "is_error": None}, ToolResultBlock("i")),
        ({"type": "tool_result", "tool_use_id": "i", "content": ""}, ToolResultBlock("i")),
        ({"type": "tool_result", "tool_use_id": "i", "content": []}, ToolResultBlock("i")),
        (
            {"type": "tool_result", "tool_use_id": "i", "content": "out", "is_error": True},
            ToolResultBlock("i", (TextBlock("out"),), is_error=True),
        ),
    ],
)
def test_each_block_has_its_class(block: Any, expected: Block) -> None:
    assert content([block]) == (expected,)


def test_a_string_is_one_text_block() -> None:
    assert content("hi") == (TextBlock("hi"),)


def test_a_tool_result_holds_blocks_of_many_types() -> None:
    inner = [{"type": "text", "text": ""}, {"type": "text", "text": "x"}, IMAGE, DOCUMENT, SEARCH, STATE]
    (result,) = content([{"type": "tool_result", "tool_use_id": "i", "content": inner}])
    kinds = [type(block) for block in result.content]
    assert kinds == [TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, OtherBlock]


def test_a_result_within_a_result_is_kept_as_it_came() -> None:
    inner = {"type": "tool_result", "tool_use_id": "j"}
    (result,) = content([{"type": "tool_result", "tool_use_id": "i", "content": [inner]}])
    assert result.content == (OtherBlock("tool_result", inner),)


def test_a_document_of_blocks() -> None:
    blocks = [{"type": "text", "text": "x"}, IMAGE]
    (document,) = content([{"type": "document", "source": {"type": "content", "content": blocks}}])
    assert document.content == (TextBlock("x"), ImageBlock(url="u"))


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (1, "Input should be a valid string or list"),
        ({"type": "text"}, "Input should be a valid string or list"),
        (["x"], "0: Input should be an object"),
        ([{"text": "x"}], "0.type: Field required"),
        ([{"type": "text"}], "0.text.text: Field required"),
        ([{"type": "text", "text": None}], "0.text.text: Input should be a valid string"),
        ([{"type": "image"}], "0.image.source: Field required"),
        ([{"type": "tool_use", "id": "i", "name": "n", "input": "{}"}], "0.tool_use.input: Input should be an object"),
        ([{"type": "tool_result"}], "0.tool_result.tool_use_id: Field required"),
        (
            [{"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text"}]}],
            "0.tool_result.content.0.text.text: Field required",
        ),
        (
            [{"type": "image", "source": {"type": "base64", "data": "x"}}],
            "0.image.source.base64.media_type: Field required",
        ),
    ],
)
def test_faults_have_their_place(value: Any, fault: str) -> None:
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        content(value)
    assert explain(caught.value) == fault


def test_system_is_text_only() -> None:
    hook = system_hook(new_converter())
    assert hook([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None) == (
        TextBlock("a"),
        TextBlock("b"),
    )
    assert hook("s", None) == (TextBlock("s"),)
    with pytest.raises(BaseValidationError) as caught:
        hook([IMAGE], None)
    assert explain(caught.value).startswith("0: Input tag 'image' found")
