"""Good requests, each using other parts of the Messages API, and JSON of every kind."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.fuzz.mutations import ODD, bytes_of, values_of, written

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
TOOL: Final = {
    "name": "get_weather",
    "description": "The weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "cache_control": {"type": "ephemeral", "ttl": "5m"},
}
CALL: Final = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
RESULT: Final = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False}
SEARCHED: Final = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def _request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **more}


def _turn(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


HI: Final = _turn("user", "hi")
GOOD: Final = (
    _request(HI, stream=True, temperature=0.5, top_p=0.9, top_k=5, stop_sequences=["END"], metadata={"user_id": "u"}),
    _request(_turn("user", [{"type": "text", "text": "what is it?"}, IMAGE]), system="Be brief.", service_tier="auto"),
    _request(
        HI,
        _turn("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, CALL]),
        _turn(
            "user", [{**RESULT, "content": [{"type": "text", "text": "cold"}, IMAGE]}, {"type": "text", "text": "so?"}]
        ),
        tools=[TOOL],
        tool_choice={"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    ),
    _request(HI, thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=4096, stream=True),
    _request(
        _turn(
            "user",
            [
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "It is cold."},
                    "title": "t",
                    "context": "c",
                    "citations": {"enabled": False},
                },
                {"type": "text", "text": "?"},
            ],
        ),
        output_config={
            "effort": "low",
            "format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}},
        },
    ),
    _request(
        HI,
        _turn(
            "assistant", [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}, SEARCHED]
        ),
        _turn("user", "go on"),
        _turn("assistant", "It is"),
        tools=[TOOL, {"type": "bash_20250124", "name": "bash"}],
        tool_choice={"type": "auto"},
    ),
    _request(HI, thinking={"type": "adaptive"}, context_management={"edits": []}, container=None, mcp_servers=[]),
)

_SCALARS: Final = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(ODD)
JSON: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from((*GOOD[2], "type", "content")), inner),
    max_leaves=20,
)


def bodies() -> st.SearchStrategy[bytes]:
    """Good requests, with changed values mostly, with changed bytes, and JSON that was never one."""
    good = st.sampled_from(GOOD)
    return (
        good.flatmap(values_of).map(written)
        | good.flatmap(values_of).map(written)
        | good.map(written).flatmap(bytes_of)
        | JSON.map(written)
        | st.binary(max_size=100)
    )
