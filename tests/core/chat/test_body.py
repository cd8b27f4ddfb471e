from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.body import chat_body, merge
from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import (
    Block,
    ImageBlock,
    Message,
    Request,
    TextBlock,
    ThinkingBlock,
    ThinkingConfig,
    Tool,
    ToolChoice,
    ToolResultBlock,
    ToolUseBlock,
)
from core.route import Candidate

M = Candidate("up", "m")
HI = Request("message", messages=(Message("user", (TextBlock("hi"),)),))
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {}}}
F = Tool("f", SCHEMA)
SENT_F = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


def body(
    dialect: Dialect | None = None,
    *,
    candidate: Candidate = M,
    stream: bool = False,
    extra: Any = None,
    **fields: Any,
) -> dict[str, Any]:
    request = attrs.evolve(HI, **fields)
    return chat_body(request, candidate=candidate, dialect=dialect or Dialect(), stream=stream, extra=extra)


def test_the_least() -> None:
    assert body() == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False}


def test_everything_in_its_order() -> None:
    dialect = Dialect(
        top_k=True, efforts=("low", "high"), thinking_budget_field="budget", thinking_on={"think": True}, extra={"x": 1}
    )
    found = body(
        dialect,
        stream=True,
        extra={"y": 2},
        max_tokens=9,
        temperature=0.0,
        top_p=0.5,
        top_k=3,
        stop_sequences=("5",),
        tools=(F,),
        tool_choice=ToolChoice("any", parallel=False),
        thinking=ThinkingConfig("enabled", 1024),
        effort="medium",
        output_schema=SCHEMA,
        user_id="u",
    )
    assert list(found.items()) == [
        ("model", "m"),
        ("messages", [{"role": "user", "content": "hi"}]),
        ("max_tokens", 9),
        ("temperature", 0.0),
        ("top_p", 0.5),
        ("top_k", 3),
        ("stop", ["5"]),
        ("stream", True),
        ("stream_options", {"include_usage": True}),
        ("tools", [SENT_F]),
        ("tool_choice", "required"),
        ("parallel_tool_calls", False),
        ("reasoning_effort", "low"),
        ("budget", 1024),
        ("think", True),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "response", "schema": SCHEMA}},
        ),
        ("x", 1),
        ("y", 2),
    ]


@pytest.mark.parametrize(("asked", "cap", "sent"), [(None, 8, None), (0, None, 1), (9, None, 9), (9, 8, 8)])
@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_just_one_token_limit(field: str, asked: int | None, cap: int | None, sent: int | None) -> None:
    model = Candidate("up", "m", max_output_tokens=cap)
    found = body(Dialect(max_tokens_field=field), candidate=model, max_tokens=asked)
    limits = {key: found[key] for key in ("max_tokens", "max_completion_tokens") if key in found}
    assert limits == ({} if sent is None else {field: sent})


def test_sampling_goes_only_where_it_is_taken() -> None:
    assert "top_k" not in body(top_k=5)
    assert body(Dialect(top_k=True), top_k=0)["top_k"] == 0
    found = body(Dialect(sampling=False, top_k=True), temperature=0.5, top_p=0.5, top_k=3)
    assert list(found) == ["model", "messages", "top_k", "stream"]


def test_a_schema_goes_into_response_format_or_into_the_prompt() -> None:
    assert body(output_schema=SCHEMA)["response_format"]["json_schema"]["schema"] == SCHEMA
    for dialect in (Dialect(response_format="none"), Dialect(allowed_fields=("stream",))):
        found = body(dialect, output_schema=SCHEMA)
        assert "response_format" not in found
        assert found["messages"][0]["content"].endswith('\n{"type":"object","properties":{"b":{},"a":{}}}')


def test_a_strict_engine_gets_only_what_it_takes() -> None:
    dialect = Dialect(
        allowed_fields=("max_tokens", "stream", "tools"),
        thinking_on={"think": True},
        extra={"kept": 1},
        efforts=("low",),
    )
    found = body(
        dialect,
        stream=True,
        extra={"safe_prompt": True},
        temperature=0.5,
        max_tokens=9,
        tools=(F,),
        tool_choice=ToolChoice("any", parallel=False),
        thinking=ThinkingConfig("adaptive"),
        effort="high",
    )
    assert list(found) == ["model", "messages", "max_tokens", "stream", "tools", "kept", "safe_prompt"]
    with pytest.raises(RequestError, match=r"^stop_sequences: this model's server takes no stop sequences"):
        body(dialect, stop_sequences=("5",))


def test_stop_sequences_go_into_the_field_that_the_engine_reads() -> None:
    found = body(Dialect(stop_field="halt"), stop_sequences=("5", "6"))
    assert (found["halt"], "stop" in found) == (["5", "6"], False)
    assert body(Dialect(stop_field="halt", allowed_fields=("halt",)), stop_sequences=("5",))["halt"] == ["5"]
    with pytest.raises(RequestError, match=r"^stop_sequences: this model's server takes no stop sequences"):
        body(Dialect(stop_field="halt", allowed_fields=("stop",)), stop_sequences=("5",))
    assert "halt" not in body(Dialect(stop_field="halt"))


@pytest.mark.parametrize(
    "turns",
    [(), (Message("user", (TextBlock(""),)),), (Message("assistant", (ThinkingBlock("t"),)),)],
)
def test_a_conversation_that_says_nothing_is_refused_but_can_be_counted(turns: tuple[Message, ...]) -> None:
    for system in ((), (TextBlock("s"),)):
        with pytest.raises(RequestError, match=r"^messages: there is nothing in them to answer"):
            body(messages=turns, system=system)
        assert len(body(task="count_tokens", messages=turns, system=system)["messages"]) == len(system)


@pytest.mark.parametrize("late", ["fold", "keep", "hoist"])
def test_a_system_turn_alone_is_something(late: Any) -> None:
    assert body(Dialect(late_system=late), messages=(Message("system", (TextBlock("s"),)),))["messages"]


# --- streaming ---


def test_a_stream_asks_for_its_usage_where_that_is_known() -> None:
    assert body(stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(Dialect(stream_usage=False), stream=True)
    assert "stream_options" not in body(stream=False)


# --- extras ---

THINKER = Dialect(thinking_off={"chat_template_kwargs": {"enable_thinking": False}})


def test_extras_go_deep_and_the_operator_s_come_last() -> None:
    dialect = attrs.evolve(THINKER, extra={"chat_template_kwargs": {"a": 1}, "seed": 1, "stop": ["x"]})
    extra = {"chat_template_kwargs": {"enable_thinking": True, "b": {"c": 2}}, "seed": 2, "temperature": 0.1, "n": None}
    found = body(dialect, thinking=ThinkingConfig("disabled"), extra=extra, temperature=0.9, stop_sequences=("5",))
    assert found["chat_template_kwargs"] == {"enable_thinking": True, "a": 1, "b": {"c": 2}}
    assert (found["seed"], found["temperature"], found["stop"], found["n"]) == (2, 0.1, ["x"], None)
    assert THINKER.thinking_off == {"chat_template_kwargs": {"enable_thinking": False}}


def test_the_model_s_own_extras_come_after_the_backend_s() -> None:
    model = Candidate("up", "m", extra_body=MappingProxyType({"a": {"model": 1}, "seed": 3}))
    found = body(
        Dialect(extra={"a": {"dialect": 1}, "seed": 1}), candidate=model, extra={"a": {"backend": 1}, "seed": 2}
    )
    assert found["a"] == {"dialect": 1, "backend": 1, "model": 1}
    assert found["seed"] == 3


def test_merge_changes_neither_and_gives_plain_dicts() -> None:
    base, more = (
        {"a": {"b": 1}, "c": 1},
        {"a": {"d": 2}, "c": {"e": 3}, "f": MappingProxyType({"g": MappingProxyType({})})},
    )
    found = merge(base, more)
    assert found == {"a": {"b": 1, "d": 2}, "c": {"e": 3}, "f": {"g": {}}}
    assert orjson.loads(orjson.dumps(found)) == found
    assert base == {"a": {"b": 1}, "c": 1}
    found["a"]["x"] = found["c"]["x"] = 1
    assert "x" not in base["a"]  # type: ignore[operator]
    assert "x" not in more["c"]
    assert merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2}


# --- byte for byte ---

TURNS = st.lists(
    st.tuples(st.text("ab ", min_size=1, max_size=4), st.booleans(), st.booleans()), min_size=1, max_size=6
)
STRICT = Dialect(
    tool_id_pattern="[a-zA-Z0-9]{9}",
    tool_name_limit=12,
    user_after_tool="bridge",
    reasoning_history="parts",
    images="none",
)


def talk(turns: list[tuple[str, bool, bool]]) -> list[Message]:
    """Turns by turns: (text, whether a system turn follows, whether the model calls tools before)."""
    out: list[Message] = []
    for number, (text, system, calls) in enumerate(turns):
        content: list[Block] = [TextBlock(text)]
        if calls:
            used = [ToolUseBlock(f"call {number} {at}", "a.tool") for at in range(2)]
            out.append(Message("assistant", (ThinkingBlock(text), *used)))
            content += [ToolResultBlock(call.id, (TextBlock(text), ImageBlock(url="u:"))) for call in reversed(used)]
        out.append(Message("user", tuple(content)))
        out += [Message("system", (TextBlock(text),))] if system else []
        out.append(Message("assistant", (ThinkingBlock(text), TextBlock(text))))
    return out


@given(TURNS, st.sampled_from([Dialect(), Dialect(late_system="keep"), STRICT]))
def test_a_growing_conversation_keeps_its_beginning(turns: list[tuple[str, bool, bool]], dialect: Dialect) -> None:
    messages = talk(turns)
    roles = [message.role for message in messages]
    ends = [at for at in range(1, len(roles)) if roles[at] == "assistant" != roles[at - 1]]
    sent = [orjson.dumps(body(dialect, messages=tuple(messages[:end]))["messages"]) for end in ends]
    for shorter, longer in pairwise(sent):
        assert longer.startswith(shorter.removesuffix(b"]") + b",")


@given(TURNS)
def test_the_same_request_gives_the_same_bytes(turns: list[tuple[str, bool, bool]]) -> None:
    fields: dict[str, Any] = {
        "messages": tuple(talk(turns)),
        "tools": (F, Tool("a.tool", SCHEMA)),
        "output_schema": SCHEMA,
    }
    assert orjson.dumps(body(STRICT, **fields)) == orjson.dumps(body(STRICT, **fields))
