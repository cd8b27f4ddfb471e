"""The order and the roles of turns."""

from __future__ import annotations

from typing import Any

import pytest

from core.testing import UpstreamAnswer
from tests.mapping.wire import BACKENDS, HI, F, Wire

OK: dict[str, Any] = {"role": "assistant", "content": "OK"}
GO: dict[str, Any] = {"role": "user", "content": "Go"}
LATE: dict[str, Any] = {"role": "system", "content": "Be brief."}


def call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]}


def result(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ids]}


def test_turns_of_one_role(wire: Wire) -> None:
    assert wire.messages(HI, GO, OK, OK, HI) == [
        {"role": "user", "content": "Hi\n\nGo"},
        {"role": "assistant", "content": "OKOK"},
        HI,
    ]


def test_assistant_first(wire: Wire) -> None:
    assert wire.messages(OK, HI) == [OK, HI]


def test_system_turn(wire: Wire) -> None:
    folded = {"role": "user", "content": "Hi\n\n<system-reminder>\nBe brief.\n</system-reminder>"}
    for backend in BACKENDS:
        assert wire.messages(HI, LATE, backend=backend) == [folded]
        assert wire.messages(HI, LATE, OK, GO, backend=backend) == [folded, OK, GO]
    keep, hoist = ({"dialect": {"late_system": way}} for way in ("keep", "hoist"))
    assert wire.messages(HI, LATE, OK, GO, options=keep) == [HI, LATE, OK, GO]
    prompt = {"role": "system", "content": "Be kind.\n\nBe brief."}
    assert wire.messages(HI, LATE, OK, GO, system="Be kind.", options=hoist) == [prompt, HI, OK, GO]


def test_effort_of_a_system_turn(wire: Wire) -> None:
    high = {**LATE, "output_config": {"effort": "high"}}
    assert wire.sent("vllm", messages=[HI, high], output_config={"effort": "low"})["reasoning_effort"] == "high"
    silent = {"role": "system", "output_config": {"effort": "high"}}
    assert wire.sent("vllm", messages=[HI, silent])["messages"] == [HI]


def test_clear_at(wire: Wire) -> None:
    once = {**LATE, "clear_at": "next_user_message"}
    assert wire.messages(HI, once, OK, GO) == [HI, OK, GO]
    assert "Be brief." in wire.messages(HI, once)[0]["content"]


def test_tool_addition_and_removal(wire: Wire) -> None:
    named = {"type": "tool_reference", "name": "f"}
    change = [{"type": "tool_removal", "tool": named}]
    other = {**F, "name": "g"}
    body = wire.sent(tools=[F, other], messages=[HI, {"role": "system", "content": change}])
    assert [tool["function"]["name"] for tool in body["tools"]] == ["g"]
    change = [{"type": "tool_addition", "tool": named}]
    late = {**F, "defer_loading": True}
    body = wire.sent(tools=[late, other], messages=[HI, {"role": "system", "content": change}])
    assert {tool["function"]["name"] for tool in body["tools"]} == {"f", "g"}
    assert body["messages"] == [HI]


@pytest.mark.parametrize(
    ("backend", "flags", "mark"),
    [
        (
            "vllm",
            {
                "add_generation_prompt": False,
                "continue_final_message": True,
                "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
            },
            {},
        ),
        ("deepseek", {}, {"prefix": True}),
        ("llama_cpp", {}, {}),
    ],
)
def test_prefill(wire: Wire, backend: str, flags: dict[str, Any], mark: dict[str, Any]) -> None:
    last = {"role": "assistant", "content": "The answer is ("}
    plain = wire.sent(backend)
    body = wire.sent(backend, messages=[HI, last])
    assert body == {**plain, "messages": [HI, {**last, **mark}], **flags}
    answer = UpstreamAnswer(text="7)")
    assert wire.answer(answer, backend, messages=[HI, last])["content"] == [{"type": "text", "text": "7)"}]


def test_prefill_refused(wire: Wire) -> None:
    refuse = {"dialect": {"prefill": "refuse"}}
    assert wire.refused(messages=[HI, OK], options=refuse) == (
        "This model does not support assistant message prefill. The conversation must end with a user message."
    )


def test_unanswered_call(wire: Wire) -> None:
    assert wire.refused(messages=[HI, call("c1", "c2"), result("c1")]) == (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c2. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def test_result_without_a_call(wire: Wire) -> None:
    assert wire.refused(messages=[HI, call("c1"), result("c1", "c9")]) == (
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: c9. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
    )


def test_one_id_twice(wire: Wire) -> None:
    assert wire.refused(messages=[HI, call("c1", "c1"), result("c1")]) == (
        "messages.1.content.1: `tool_use` ids must be unique"
    )
    again = wire.messages(HI, call("c1"), result("c1"), call("c1"), result("c1"))
    assert [turn["role"] for turn in again] == ["user", "assistant", "tool", "assistant", "tool"]


def test_unknown_role(wire: Wire) -> None:
    assert wire.refused(messages=[{"role": "tool", "content": "x"}]).startswith("messages.0.role: Input should be ")


def test_empty_text(wire: Wire) -> None:
    empty = {"type": "text", "text": ""}
    blank = {"type": "text", "text": " \n"}
    turn = {"role": "user", "content": [empty, {"type": "text", "text": "Hi"}, empty]}
    assert wire.messages(turn, {"role": "assistant", "content": ""}, GO) == [{"role": "user", "content": "Hi\n\nGo"}]
    assert wire.messages({"role": "user", "content": [blank]}) == [{"role": "user", "content": " \n"}]


def test_nothing_but_empty_text(wire: Wire) -> None:
    assert wire.refused(messages=[{"role": "user", "content": ""}]) == (
        "messages: there is nothing in them to answer; send a user message with content"
    )
