from __future__ import annotations

from typing import Any

import pytest

from core import (
    Block,
    ImageBlock,
    Message,
    OtherBlock,
    RequestError,
    TextBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from plugins.anthropic.foreign import foreign_call, readable


def other(kind: str, **fields: Any) -> OtherBlock:
    return OtherBlock(kind, {"type": kind, **fields})


SEARCH = other("server_tool_use", id="s", name="web_search", input={"query": "q"})


def said(*blocks: Block) -> list[str]:
    (message,) = readable([Message("assistant", blocks)])
    return [block.text for block in message.content if isinstance(block, TextBlock)]


def test_a_search_and_what_it_found() -> None:
    pages = [
        {"type": "web_search_result", "title": "One", "url": "https://one", "encrypted_content": "x", "page_age": None},
        {"type": "web_search_result", "title": "Two", "url": "https://two", "encrypted_content": "y"},
    ]
    result = other("web_search_tool_result", tool_use_id="s", content=pages)
    assert said(TextBlock("a"), SEARCH, result) == [
        "a",
        '[Result of web_search {"query":"q"}]\nOne\nhttps://one\nTwo\nhttps://two',
    ]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            other("web_search_tool_result", tool_use_id="s", content={"type": "x", "error_code": "unavailable"}),
            '[Result of web_search {"query":"q"}]\nunavailable',
        ),
        (
            other(
                "web_fetch_tool_result",
                content={
                    "type": "web_fetch_result",
                    "url": "u",
                    "content": {"type": "document", "source": {"type": "text", "data": "page"}, "title": "T"},
                },
            ),
            "[Result of web_fetch]\nu\npage\nT",
        ),
        (
            other("web_fetch_tool_result", content={"content": {"source": {"type": "base64", "data": "QUJD"}}}),
            "[Result of web_fetch]",
        ),
        (
            other("bash_code_execution_tool_result", content={"stdout": "out", "stderr": "", "return_code": 0}),
            "[Result of bash_code_execution]\nout",
        ),
        (
            other("tool_search_tool_result", content={"tool_references": [{"tool_name": "a"}, {"tool_name": "b"}]}),
            "[Result of tool_search]\na\nb",
        ),
        (
            other("mcp_tool_result", tool_use_id=7, content=[{"type": "text", "text": "hello"}]),
            "[Result of mcp]\nhello",
        ),
        (other("mcp_tool_result", content="hello"), "[Result of mcp]\nhello"),
        (other("mcp_tool_result"), "[Result of mcp]"),
        (other("compaction", content="what was said"), "what was said"),
    ],
)
def test_every_result_can_be_read(block: OtherBlock, text: str) -> None:
    assert said(SEARCH, block) == [text]


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "fallback", "mcp_tool_listing", "tool_addition"])
def test_what_says_nothing_alone_is_dropped(kind: str) -> None:
    assert readable([Message("assistant", (other(kind), TextBlock("a")))])[0].content == (TextBlock("a"),)


def test_a_failed_compaction_says_nothing() -> None:
    assert said(other("compaction", content=None)) == []


def test_a_plain_result_of_such_a_call_is_text_too() -> None:
    image = ImageBlock(url="u")
    messages = readable(
        [Message("assistant", (SEARCH,)), Message("user", (ToolResultBlock("s", (TextBlock("found"), image)),))]
    )
    assert messages[0].content == ()
    assert messages[1].content == (TextBlock('[Result of web_search {"query":"q"}]'), TextBlock("found"), image)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ({"tool_references": [{"type": "tool_reference", "tool_name": "a"}, {"tool_name": "b"}]}, ["a", "b"]),
        ({"tool_references": [{"tool_name": ""}, {"tool_name": 7}, {}, None, "c"]}, []),
        ({"tool_references": {"tool_name": "a"}}, []),
        ({"error_code": "unavailable"}, []),
        ([{"tool_name": "a"}], []),
        (None, []),
    ],
)
def test_a_search_for_tools_makes_them_available(content: Any, names: list[str]) -> None:
    (message,) = readable([Message("assistant", (other("tool_search_tool_result", content=content),))])
    text, *references = message.content
    assert isinstance(text, TextBlock)
    assert references == [ToolReferenceBlock(name) for name in names]


def test_plain_calls_and_results_stay() -> None:
    messages = [Message("assistant", (ToolUseBlock("s", "f"),)), Message("user", (ToolResultBlock("s"),))]
    assert readable(messages) == tuple(messages)
    assert readable([Message("assistant", (SEARCH,)), *messages])[1:] == tuple(messages)


def test_what_nobody_knows_stays() -> None:
    block = other("future")
    assert readable([Message("user", (block,))])[0].content == (block,)


def test_a_file_in_a_container_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^messages\.0\.content\.1: files by id are not kept here"):
        readable([Message("user", (TextBlock("a"), other("container_upload", file_id="f")))])


def test_the_ids_of_foreign_calls() -> None:
    assert foreign_call(SEARCH) == "s"
    assert [foreign_call(block) for block in (other("server_tool_use", id=1), ToolUseBlock("i", "f"))] == ["", ""]


def test_turns_without_such_blocks_stay_as_they_are() -> None:
    messages = [
        Message("assistant", (TextBlock("a"), ToolUseBlock("i", "n"))),
        Message("user", (ToolResultBlock("i"), ImageBlock(url="u"))),
    ]
    assert all(after is before for after, before in zip(readable(messages), messages, strict=True))
