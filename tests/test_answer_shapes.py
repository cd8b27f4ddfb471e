"""Every shape in which engines answer, on the wire: chunks in, and what the client gets, streaming and not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from core.testing import Assembly, Framing, assert_split_invariant

TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("f", "g")]
CUTS: Sequence[Sequence[int]] = ((3, 40, 41, 170), (200,))
A, B = '{"a":1}', '{"b":[2,{}]}'


def calls(*fragments: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(fragments)}


def part(arguments: Any = None, index: Any = 0, identity: Any = None, name: Any = None, **more: Any) -> dict[str, Any]:
    """One fragment of a call; what is None is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment = {"index": index, "id": identity, "function": function or None, **more}
    return {key: value for key, value in fragment.items() if value is not None}


def use(name: str = "f", **given: Any) -> tuple[str, dict[str, Any]]:
    return name, given


@attrs.frozen
class Shape:
    """The deltas of one stream and how it ends; what the client gets: texts, thoughts and calls in their order."""

    deltas: Sequence[dict[str, Any]]
    content: Sequence[Any]
    finish: str | None = "tool_calls"
    stop: tuple[str, str | None] = ("tool_use", None)
    end: dict[str, Any] = attrs.field(factory=dict)
    choice: dict[str, Any] = attrs.field(factory=dict)
    plugin: str = "openai"
    twice: bool = False

    def sse(self) -> bytes:
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in self.deltas]
        last = {"choices": [{"index": 0, "delta": self.end, "finish_reason": self.finish, **self.choice}]}
        return Framing().stream([*chunks, last, *([last] if self.twice else [])])


OPEN = part("", 0, "a", "f")
ONE = [use(a=1)]
TWO = [use(a=1), use("g", b=[2, {}])]
SHAPES: dict[str, Shape] = {
    # --- one and many, whole and in fragments ---
    "one whole call": Shape([calls(part(A, 0, "a", "f"))], ONE),
    "one call in fragments": Shape([calls(OPEN), calls(part('{"a"')), calls(part(":1}"))], ONE),
    "fragments of one call in one chunk": Shape([calls(OPEN, part('{"a"'), part(":1}"))], ONE),
    "two whole calls in one chunk": Shape([calls(part(A, 0, "a", "f"), part(B, 1, "b", "g"))], TWO),
    "two calls one after another": Shape(
        [calls(OPEN), calls(part(A)), calls(part("", 1, "b", "g")), calls(part(B, 1))], TWO
    ),
    "two calls in turns": Shape(
        [
            calls(OPEN),
            calls(part("", 1, "b", "g")),
            calls(part('{"b":', 1)),
            calls(part('{"a"', 0)),
            calls(part("[2,{}]}", 1), part(":1}", 0)),
        ],
        TWO,
    ),
    "two calls in turns, the later one complete first": Shape(
        [calls(part('{"a"', 0, "a", "f")), calls(part(B, 1, "b", "g")), calls(part(":1}", 0))], TWO
    ),
    # --- index, id and name ---
    "whole calls without index": Shape([calls(part(A, None, "a", "f")), calls(part(B, None, "b", "g"))], TWO),
    "fragments without index": Shape(
        [
            calls(part('{"a"', None, "a", "f")),
            calls(part(":1}", None)),
            calls(part('{"b":', None, "b", "g")),
            calls(part("[2,{}]}", None)),
        ],
        TWO,
    ),
    "calls without id": Shape([calls(part(A, 0, None, "f")), calls(part(B, 1, None, "g"))], TWO),
    "calls with an empty id": Shape([calls(part(A, 0, "", "f")), calls(part(B, 1, "", "g"))], TWO),
    "neither index nor id": Shape([calls(part(A, None, None, "f"), part(B, None, None, "g"))], TWO),
    "one index for all": Shape([calls(part(A, 0, "a", "f")), calls(part(B, 0, "b", "g"))], TWO),
    "one id for all": Shape([calls(part(A, 0, "a", "f")), calls(part(B, 1, "a", "g"))], TWO),
    "id and name repeated (TGI)": Shape([calls(part('{"a"', 0, "0", "f")), calls(part(":1}", 0, "0", "f"))], ONE),
    "name repeated, id null (TensorRT-LLM)": Shape(
        [calls({"index": 0, "id": None, "function": {"name": "f", "arguments": piece}}) for piece in ('{"a"', ":1}")],
        ONE,
        "stop",
    ),
    "a new id with each fragment": Shape(
        [calls(part('{"a"', 0, "x", "f")), calls(part(":1", 0, "y")), calls(part("}", 0, "z"))], ONE
    ),
    "no name at all": Shape([calls(part(A, 0, "a"))], [use("unknown_tool", a=1)]),
    # --- arguments ---
    "arguments before the name": Shape(
        [calls(part('{"a"', 0, "a")), calls(part(":1}", 0)), calls(part("", 0, None, "f"))], ONE
    ),
    "arguments as an object": Shape([calls(part({"a": 1}, 0, "a", "f"))], ONE),
    "arguments that are JSON in a string": Shape([calls(part(json.dumps(A), 0, "a", "f"))], ONE),
    "arguments missing": Shape([calls(part(None, 0, "a", "f"))], [use()]),
    "arguments empty": Shape([calls(OPEN)], [use()]),
    "arguments null": Shape([calls(part("null", 0, "a", "f"))], [use()]),
    "arguments blank": Shape([calls(part(" \n", 0, "a", "f"))], [use()]),
    "arguments in the opening chunk": Shape([calls(part('{"a"', 0, "a", "f")), calls(part(":1}"))], ONE),
    "arguments in the closing chunk": Shape([calls(part('{"a"', 0, "a", "f"))], ONE, end=calls(part(":1}"))),
    "a whole call in the closing chunk": Shape([], ONE, end=calls(part(A, 0, "a", "f"))),
    "equal fragments": Shape(
        [calls(part('{"a":"', 0, "a", "f")), *[calls(part("ha"))] * 3, calls(part('"}'))], [use(a="hahaha")]
    ),
    "the closing chunk twice": Shape([calls(part('{"a"', 0, "a", "f"))], ONE, end=calls(part(":1}")), twice=True),
    "the whole call again at the end": Shape(
        [calls(part('{"a"', 0, "a", "f")), calls(part(":1}"))], ONE, end=calls(part(A, 0, "a", "f"))
    ),
    "no JSON": Shape([calls(part("a=1", 0, "a", "f"))], [use(unparsed_arguments="a=1")]),
    "broken JSON": Shape([calls(part('{"a":', 0, "a", "f")), calls(part("}}"))], [use(unparsed_arguments='{"a":}}')]),
    "a list": Shape([calls(part("[1]", 0, "a", "f"))], [use(unparsed_arguments="[1]")]),
    "two objects in one": Shape([calls(part(A + B, 0, "a", "f"))], [*ONE, use(b=[2, {}])]),
    "one object twice in one": Shape([calls(part(A + A, 0, "a", "f"))], ONE),
    "a brace too many": Shape([calls(part(A, 0, "a", "f")), calls(part("}"))], [*ONE, "}"]),
    "a brace too many behind a quote": Shape(
        [calls(part('{"a":"say "}', 0, "a", "f")), calls(part('"}'))], [use(unparsed_arguments='{"a":"say "}"}')]
    ),
    "blanks behind the object": Shape([calls(part(A, 0, "a", "f")), calls(part(" \n"))], ONE),
    "raw line breaks and tabs in a string": Shape(
        [calls(part('{"a":\n"b\n', 0, "a", "f")), calls(part('\tc"}'))], [use(a="b\n\tc")]
    ),
    "no object behind the brace": Shape(
        [calls(part("{", 0, "a", "f")), calls(part(" a: 1}"))], [use(unparsed_arguments="{ a: 1}")]
    ),
    "no number": Shape([calls(part('{"a":NaN}', 0, "a", "f"))], [use(unparsed_arguments='{"a":NaN}')]),
    "a legacy call": Shape(
        [{"function_call": {"name": "f", "arguments": '{"a"'}}, {"function_call": {"arguments": ":1}"}}],
        ONE,
        "function_call",
    ),
    # --- what stands around a call ---
    "reasoning, text and call in one chunk (vLLM)": Shape(
        [{"reasoning": "r", "content": "t", **calls(part(A, 0, "a", "f"))}], [("r",), "t", *ONE]
    ),
    "text after a call": Shape([calls(part(A, 0, "a", "f")), {"content": "t"}], [*ONE, "t"]),
    "reasoning after a call": Shape([calls(part(A, 0, "a", "f")), {"reasoning": "r"}], [*ONE, ("r",)]),
    "text amid a call": Shape([calls(part('{"a"', 0, "a", "f")), {"content": "t"}, calls(part(":1}"))], [*ONE, "t"]),
    "text between calls": Shape(
        [{"content": "s"}, calls(part(A, 0, "a", "f")), {"content": "t"}, calls(part(B, 1, "b", "g"))],
        ["s", TWO[0], "t", TWO[1]],
    ),
    # --- how it ends ---
    "finish_reason stop": Shape([calls(part(A, 0, "a", "f"))], ONE, "stop"),
    "finish_reason empty": Shape([calls(part(A, 0, "a", "f"))], ONE, ""),
    "finish_reason null": Shape([calls(part(A, 0, "a", "f"))], ONE, None),
    "finish_reason of the engine's own": Shape([calls(part(A, 0, "a", "f"))], ONE, "eos"),
    "cut by length": Shape(
        [calls(part('{"a":"b', 0, "a", "f"))],
        [use(unparsed_arguments='{"a":"b')],
        "length",
        ("max_tokens", None),
    ),
    "cut by length before its arguments": Shape([calls(OPEN)], [use()], "length", ("max_tokens", None)),
    "cut by a stop string": Shape(
        [calls(part('{"a":"', 0, "a", "f"))],
        [use(unparsed_arguments='{"a":"')],
        "stop",
        ("stop_sequence", "END"),
        choice={"stop_reason": "END"},
        plugin="vllm",
    ),
    "tool_calls without a call": Shape([{"content": "t"}], ["t"], stop=("end_turn", None)),
    "tool_calls with an empty list": Shape([{"content": "t", **calls()}], ["t"], stop=("end_turn", None)),
    "tool_calls with an empty call": Shape([{"content": "t"}, calls({"index": 0})], ["t"], stop=("end_turn", None)),
}


@attrs.frozen
class Whole:
    """A whole message and its finish_reason, and what the client gets."""

    message: dict[str, Any]
    content: Sequence[Any]
    finish: str | None = "tool_calls"
    stop: tuple[str, str | None] = ("tool_use", None)
    choice: dict[str, Any] = attrs.field(factory=dict)
    plugin: str = "openai"

    def json(self) -> bytes:
        choice = {"index": 0, "message": self.message, "finish_reason": self.finish, **self.choice}
        return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()


NO_ARGUMENTS: tuple[Any, ...] = (None, "", "null", " ", "{}", {})
FIRST, SECOND = part(A, None, "a", "f"), part(B, None, "b", "g")
WHOLES: dict[str, Whole] = {
    "one call": Whole(calls(FIRST), ONE),
    "two calls": Whole(calls(FIRST, SECOND), TWO),
    "numbered calls": Whole(calls(part(A, 0, "a", "f"), part(B, 1, "b", "g")), TWO),
    "one number for all": Whole(calls(part(A, 0, "a", "f"), part(B, 0, "b", "g")), TWO),
    "equal calls": Whole(calls(FIRST, FIRST), [*ONE, *ONE]),
    "one id for all": Whole(calls(FIRST, {**SECOND, "id": "a"}), TWO),
    "no ids": Whole(calls(part(A, None, None, "f"), part(B, None, "", "g")), TWO),
    "no name": Whole(calls(part(A, None, "a")), [use("unknown_tool", a=1)]),
    "arguments as an object": Whole(calls(part({"a": 1}, None, "a", "f")), ONE),
    "arguments that are JSON in a string": Whole(calls(part(json.dumps(A), None, "a", "f")), ONE),
    **{f"arguments {given!r}": Whole(calls(part(given, None, "a", "f")), [use()]) for given in NO_ARGUMENTS},
    "no JSON": Whole(calls(part("a=1", None, "a", "f")), [use(unparsed_arguments="a=1")]),
    "two objects in one": Whole(calls(part(A + B, None, "a", "f")), [*ONE, use(b=[2, {}])]),
    "a brace too many": Whole(calls(part(A + "}", None, "a", "f")), [*ONE, "}"]),
    "raw line breaks and tabs in a string": Whole(calls(part('{"a":"b\n\tc"}', None, "a", "f")), [use(a="b\n\tc")]),
    "no object behind the brace": Whole(calls(part("{a: 1}", None, "a", "f")), [use(unparsed_arguments="{a: 1}")]),
    "no number": Whole(calls(part('{"a":NaN}', None, "a", "f")), [use(unparsed_arguments='{"a":NaN}')]),
    "broken JSON": Whole(calls(part('{"a":}}', None, "a", "f")), [use(unparsed_arguments='{"a":}}')]),
    "a legacy call": Whole({"content": None, "function_call": {"name": "f", "arguments": A}}, ONE, "function_call"),
    "reasoning, text and calls": Whole({"reasoning": "r", "content": "t", **calls(FIRST, SECOND)}, [("r",), "t", *TWO]),
    **{f"finish_reason {given!r}": Whole(calls(FIRST), ONE, given) for given in ("stop", "", None, "eos")},
    "cut by length": Whole(
        calls(part('{"a":"b', None, "a", "f")), [use(unparsed_arguments='{"a":"b')], "length", ("max_tokens", None)
    ),
    "cut by a stop string": Whole(
        calls(part('{"a":"', None, "a", "f")),
        [use(unparsed_arguments='{"a":"')],
        "stop",
        ("stop_sequence", "END"),
        {"stop_reason": "END"},
        "vllm",
    ),
    "tool_calls without a call": Whole({"content": "t"}, ["t"], stop=("end_turn", None)),
    "tool_calls null": Whole({"content": "t", "tool_calls": None}, ["t"], stop=("end_turn", None)),
    "tool_calls with an empty call": Whole({"content": "t", **calls({})}, ["t"], stop=("end_turn", None)),
}


@pytest.fixture(scope="module")
def assemblies() -> dict[str, Assembly]:
    return {name: Assembly([name]) for name in ("openai", "vllm")}


@pytest.mark.parametrize("name", SHAPES)
def test_a_streamed_shape(name: str, assemblies: dict[str, Assembly]) -> None:
    shape = SHAPES[name]
    expect(shape, assemblies, shape.sse())


@pytest.mark.parametrize("name", WHOLES)
def test_a_whole_shape(name: str, assemblies: dict[str, Assembly]) -> None:
    whole = WHOLES[name]
    expect(whole, assemblies, whole.json())


def expect(shape: Shape | Whole, assemblies: dict[str, Assembly], wire: bytes) -> None:
    """In every mode, however the wire is cut: the content in its order, calls with ids of their own, and the stop."""
    request = {"stop_sequences": ["END"], "tools": TOOLS}
    for mode, reply in assert_split_invariant(assemblies[shape.plugin], wire, request=request, cuts=CUTS).items():
        message = reply.message
        assert (reply.error, [plain(block) for block in message["content"]]) == (None, list(shape.content)), mode
        assert (message["stop_reason"], message["stop_sequence"]) == shape.stop, mode
        ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert len(set(ids)) == len(ids)


def plain(block: dict[str, Any]) -> Any:
    """A text as it is, a thought in a tuple of its own, a call as name and input."""
    if block["type"] == "tool_use":
        return block["name"], block["input"]
    return block["text"] if block["type"] == "text" else (block["thinking"],)
