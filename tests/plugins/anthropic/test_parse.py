from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from core import HTTPRequest, Message, Request, RequestError, TextBlock, Tool, ToolResultBlock
from plugins.anthropic.parse import BILLING, Parser, load

PARSER = Parser()
BODY: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


def parse(**fields: Any) -> Request:
    return PARSER.parse_body(orjson.dumps({**BODY, **fields}), "message")


def fault(data: bytes) -> str:
    with pytest.raises(RequestError) as caught:
        PARSER.parse_body(data, "message")
    assert caught.value.kind == "invalid_request"
    return caught.value.message


def test_a_message_request() -> None:
    http = HTTPRequest("POST", "/messages/", query=b"beta=true", body=orjson.dumps(BODY))
    expected = Request("message", model="m", max_tokens=5, messages=(Message("user", (TextBlock("hi"),)),))
    assert PARSER.parse(http) == expected


def test_a_request_says_whose_it_is() -> None:
    http = HTTPRequest("POST", "/messages", headers=[(b"x-api-key", b"k")], body=orjson.dumps(BODY))
    assert PARSER.parse(http).owner == http.owner
    assert parse().owner == ""


def test_a_count_request_needs_no_max_tokens() -> None:
    body = orjson.dumps({"model": "m", "messages": BODY["messages"], "tools": []})
    request = PARSER.parse(HTTPRequest("POST", "/messages/count_tokens", body=body))
    assert request == Request("count_tokens", model="m", messages=(Message("user", (TextBlock("hi"),)),))


def test_models_requests() -> None:
    assert PARSER.parse(HTTPRequest("GET", "/models")) == Request("models")
    assert PARSER.parse(HTTPRequest("HEAD", "/models/a%2Fb")) == Request("models", model="a/b")


@pytest.mark.parametrize(("path", "kind"), [("/other", "not_found"), ("/models", "method_not_allowed")])
def test_wrong_addresses(path: str, kind: str) -> None:
    with pytest.raises(RequestError) as caught:
        PARSER.parse(HTTPRequest("POST", path))
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The request body is empty"),
        (b" \n", "The request body is empty"),
        (b"{", "The request body is not valid JSON: unexpected end of data: line 1 column 2 (char 1)"),
        (b"[]", "The request body should be a JSON object"),
        (b"null", "The request body should be a JSON object"),
        (b'{"a": NaN}', "The request body is not valid JSON: "),
        (b'"\xff"', "The request body is not valid JSON: "),
        (b'{"model": "\\ud83d", "a": NaN}', "The request body is not valid JSON: no low surrogate in string: line 1"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "The request body is not valid JSON: "),
        (b"{}", "model: Field required"),
        (b'{"model": "m", "max_tokens": 1}', "messages: Field required"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}', "max_tokens: Field required"),
        (b'{"model": "m", "max_tokens": 1, "messages": []}', "messages: at least one message is required"),
        (b'{"model": "m", "max_tokens": 1' + b"0" * 40 + b', "messages": []}', "max_tokens: Input should be a valid"),
    ],
)
def test_bad_bodies(data: bytes, message: str) -> None:
    assert fault(data).startswith(message)


def test_half_a_character_is_replaced() -> None:
    data = orjson.dumps({**BODY, "messages": [{"role": "user", "content": "cut HALF"}]}).replace(b"HALF", rb"\ud83d")
    assert PARSER.parse_body(data, "message").messages == (Message("user", (TextBlock("cut \ufffd"),)),)


def test_deep_tool_input_is_refused_with_its_place() -> None:
    deep = orjson.loads(b'{"a":' * 250 + b"1" + b"}" * 250)
    block = {"type": "tool_use", "id": "i", "name": "n", "input": deep}
    data = orjson.dumps(BODY)[:-1] + b',"messages":[{"role":"assistant","content":['
    text = orjson.dumps({**block, "input": 0})[:-2] + b'{"a":' * 250 + b"1" + b"}" * 251
    assert fault(data + text + b"]}]}") == "messages.0.content.0.tool_use.input: Input is nested too deeply"


def test_empty_text_is_dropped_and_blank_text_kept() -> None:
    content = [{"type": "text", "text": text} for text in ("", " ", "x", "")]
    request = parse(messages=[{"role": "user", "content": content}, {"role": "assistant", "content": ""}])
    assert request.messages == (Message("user", (TextBlock(" "), TextBlock("x"))), Message("assistant", ()))


def test_dropped_text_does_not_shift_the_path_of_a_fault() -> None:
    content = [{"type": "text", "text": ""}, {"type": "tool_result", "tool_use_id": "z"}]
    message = fault(orjson.dumps({**BODY, "messages": [{"role": "user", "content": content}]}))
    assert message.startswith("messages.0.content.1: unexpected `tool_use_id`")


@pytest.mark.parametrize("system", ["", [], None, [{"type": "text", "text": ""}], f"{BILLING} v=1;"])
def test_no_system(system: Any) -> None:
    assert parse(system=system).system == ()


def test_the_billing_note_is_dropped_from_the_system_only() -> None:
    note = {"type": "text", "text": f"{BILLING} cc_version=1; cch=ab;"}
    text = {"type": "text", "text": "be brief"}
    request = parse(
        system=[note, text],
        messages=[{"role": "user", "content": [note]}, {"role": "system", "content": [note, text]}],
    )
    assert request.system == (TextBlock("be brief"),)
    assert request.messages[0].content == (TextBlock(note["text"]),)
    assert request.messages[1].content == (TextBlock("be brief"),)


def test_only_the_note_s_own_line_is_dropped() -> None:
    text = f"{BILLING} cc_version=1; cch=ab;\nbe brief\n{BILLING} said twice"
    request = parse(system=text, messages=[*BODY["messages"], {"role": "system", "content": text}])
    assert request.system == request.messages[1].content == (TextBlock(f"be brief\n{BILLING} said twice"),)
    assert parse(system=f"{BILLING} v=1;\n").system == ()
    assert parse(system=f"\n{BILLING} v=1;").system == (TextBlock(f"\n{BILLING} v=1;"),)


def test_a_whole_tool_turn() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "1"}], "is_error": None}
    messages = [*BODY["messages"], {"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    assert parse(messages=messages).messages[2].content == (ToolResultBlock("t", (TextBlock("1"),)),)


def test_a_thread_is_refused_with_the_code_that_makes_clients_send_all() -> None:
    with pytest.raises(RequestError, match=r"^thread: ") as caught:
        parse(thread={"type": "create"})
    assert (caught.value.status, caught.value.code) == (400, "thread_unsupported_request")


def test_other_providers_blocks_are_text() -> None:
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "A page", "url": "u"}]}
    request = parse(messages=[*BODY["messages"], {"role": "assistant", "content": [call, found]}])
    assert request.messages[1].content == (TextBlock("[Result of web_search]\nA page\nu"),)


def test_a_system_turn_sets_the_effort() -> None:
    turn = {"role": "system", "content": "s", "output_config": {"effort": "low"}}
    request = parse(messages=[*BODY["messages"], turn], output_config={"effort": "max"})
    assert (request.effort, request.messages[1]) == ("low", Message("system", (TextBlock("s"),)))


SERVER_TOOLS = [{"type": "web_search_20260318", "name": "web_search"}, {"name": "f", "input_schema": {}}]


def test_dropped_server_tools_are_told_once() -> None:
    parser = Parser(drop_server_tools=True)
    with capture_logs() as log:
        requests = [parser.parse_body(orjson.dumps({**BODY, "tools": SERVER_TOOLS}), "message") for _ in range(2)]
    assert [request.tools for request in requests] == [(Tool("f", {}),)] * 2
    assert log == [{"event": "server_tool_dropped", "type": "web_search_20260318", "log_level": "info"}]


@pytest.mark.parametrize(
    ("kind", "deferred"), [("tool_search_tool_regex_20251119", False), ("web_search_20260318", True)]
)
def test_without_the_search_for_them_deferred_tools_are_offered_at_once(kind: str, deferred: bool) -> None:
    tools = [{"type": kind, "name": "s"}, {"name": "f", "input_schema": {}, "defer_loading": True}]
    body = orjson.dumps({**BODY, "tools": tools})
    assert Parser(drop_server_tools=True).parse_body(body, "message").tools == (Tool("f", {}, defer_loading=deferred),)
    assert parse(tools=tools).tools[1] == Tool("f", {}, defer_loading=True)


def test_server_tools_stay_for_the_backend_to_refuse() -> None:
    assert [tool.name for tool in parse(tools=SERVER_TOOLS).tools] == ["web_search", "f"]


CLAUDE_CODE: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 128000,
    "stream": True,
    "thinking": {"type": "adaptive", "display": "omitted"},
    "output_config": {"effort": "medium"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "metadata": {"user_id": '{"device_id":"d","account_uuid":"","session_id":"s"}'},
    "system": [
        {"type": "text", "text": f"{BILLING} cc_version=2; cc_entrypoint=sdk-cli;"},
        {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}},
    ],
    "tools": [
        {"name": "Bash", "description": "d", "input_schema": {"type": "object", "$schema": "x"}},
        {"name": "DeferredToolPlaceholder", "input_schema": {"type": "object"}, "defer_loading": True},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "note"}, {"type": "text", "text": "say hi"}]},
        {
            "role": "system",
            "content": [{"type": "text", "text": "env", "cache_control": {"type": "ephemeral"}}],
            "output_config": {"effort": "medium"},
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look.", "citations": None},
                {"type": "tool_use", "id": "call_abc|x:1", "name": "Bash", "input": {}, "caller": {}, "odd": 1},
                {"type": "tool_use", "id": "call_2", "name": "Bash", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_2", "is_error": True, "content": "no"},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_abc|x:1",
                    "content": [{"type": "tool_reference", "tool_name": "X"}],
                },
                {"type": "text", "text": "reminder"},
            ],
        },
        {"role": "system", "content": "later"},
    ],
}


def test_what_claude_code_sends_is_taken() -> None:
    request = PARSER.parse_body(orjson.dumps(CLAUDE_CODE), "message")
    assert request.system == (TextBlock("You are an agent."),)
    assert [message.role for message in request.messages] == ["user", "system", "assistant", "user", "system"]
    assert (request.effort, len(request.tools)) == ("medium", 2)


def test_load_gives_the_object() -> None:
    assert load(b'{"a": [1, null]}') == {"a": [1, None]}


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
fields = st.sampled_from([field.name for field in attrs.fields(Request)] + ["metadata", "output_config", "type"])


def outcome(**values: Any) -> Request | RequestError:
    try:
        return parse(**values)
    except RequestError as error:
        return error


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.dictionaries(fields, json))
def test_no_value_of_any_field_makes_anything_but_a_request_or_a_refusal(values: dict[str, Any]) -> None:
    found = outcome(**values)
    assert isinstance(found, Request) or found.status == 400


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(st.sampled_from(["type", "text", "source", "content", "input"]), json)))
def test_no_block_makes_anything_but_a_request_or_a_refusal(blocks: list[Any]) -> None:
    found = outcome(messages=[{"role": "user", "content": blocks}])
    assert isinstance(found, Request) or found.message.startswith("messages.0.content.")


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.binary())
def test_no_bytes_make_anything_but_a_refusal(data: bytes) -> None:
    assert fault(data)
