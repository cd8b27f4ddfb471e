"""The rules of tool calls."""

from __future__ import annotations

from typing import Any, Final

from core.testing.answers import ChunkShape, UpstreamToolCall
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_all, check_calls, check_stop, content_of, joined, same
from core.testing.kit.rule import Rule, rule, unless

WEATHER: Final = '{"city": "Paris", "days": [1, 2, {"a": null}], "exact": 9007199254740991}'
AWKWARD: Final = '{"path": "C:\\\\tmp\\n\\"q\\"", "text": "\\u00e9 😀 } ] \\ud83d\\ude00", "": {}}'
CALLS: Final = (
    UpstreamToolCall("get_weather", WEATHER, "call_a"),
    UpstreamToolCall("mcp__files__read-2", AWKWARD, "chatcmpl-tool-b"),
    UpstreamToolCall("get_weather", '{"city": "Oslo"}', "call_c"),
)
PIECES: Final = "those without `calls_whole`"
LONG: Final = "mcp__a_server_with_a_long_name__a_tool_with_an_even_longer_name_than_that"


@rule(hint=unless(tool_ids=False))
def a_call_arrives_whole(bench: Bench) -> None:
    """A call arrives with its id, its name and its input, however its arguments are cut."""
    for size in (0, 1, 3, 9):
        answer = _calling(bench, CALLS[:1], ChunkShape(size))
        check_all(bench.serve(answer), answer, bench.facts)


@rule(hint=unless(tool_ids=False))
def several_calls_arrive_in_order(bench: Bench) -> None:
    """Several calls arrive, one after another, each with its own input."""
    for shape in (ChunkShape(0), ChunkShape(5), ChunkShape(2, finish_early=True), ChunkShape(0, shared=True)):
        answer = _calling(bench, CALLS, shape)
        check_all(bench.serve(answer), answer, bench.facts)


@rule(lambda facts: not facts.calls_whole, needs=PIECES)
def interleaved_calls_are_told_apart(bench: Bench) -> None:
    """The fragments of calls that come in turns are put together by their index."""
    answer = _calling(bench, CALLS, ChunkShape(4, interleaved=True))
    check_all(bench.serve(answer), answer, bench.facts)


@rule()
def a_call_without_arguments_has_an_empty_input(bench: Bench) -> None:
    """Arguments that are empty, `{}`, null or absent are the input {}."""
    for arguments in ("", "{}"):
        answer = _calling(bench, (UpstreamToolCall("get_time", arguments, "call_a"),))
        check_all(bench.serve(answer), answer, bench.facts)
    answer = _calling(bench, (UpstreamToolCall("get_time", "{}", "call_a"), CALLS[2]))
    functions: tuple[dict[str, Any], ...] = ({"name": "get_time"}, {"name": "get_time", "arguments": None})
    for function in functions:
        chunks = [
            _fragment(0, function, id="call_a", type="function"),
            _fragment(1, {"name": "get_weather", "arguments": '{"city": "Oslo"}'}, id="call_c", type="function"),
            piece({}, "tool_calls"),
        ]
        for place, reply in bench.serve(bench.engine.stream(chunks)):
            check_calls(place, content_of(place, reply), answer, bench.facts)


@rule()
def text_around_calls_is_kept(bench: Bench) -> None:
    """Text in front of calls stays in front of them, and text behind them is not lost."""
    answer = bench.engine.answer(text="I look. 🦜", tool_calls=CALLS, finish_reason="tool_calls")
    check_all(bench.serve(answer), answer, bench.facts)
    whole = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    chunks = [
        piece({"role": "assistant", "content": "Before."}),
        _fragment(0, whole, id="call_c", type="function"),
        piece({"content": "After."}),
        piece({}, "tool_calls"),
    ]
    for place, reply in bench.serve(bench.engine.stream(chunks)):
        same(place, "text", joined(content_of(place, reply), "text"), "Before.After.")
        check_calls(place, reply.message["content"], _calling(bench, CALLS[2:]), bench.facts)


@rule(lambda facts: not facts.calls_whole, needs=PIECES)
def arguments_that_are_an_object_are_read(bench: Bench) -> None:
    """Arguments that the engine sends as an object, not as its JSON text, are the input."""
    fragment = _fragment(0, {"name": "get_weather", "arguments": {"city": "Oslo"}}, id="call_c", type="function")
    wire = bench.engine.stream([fragment, piece({}, "tool_calls")])
    for place, reply in bench.serve(wire):
        check_calls(place, content_of(place, reply), _calling(bench, CALLS[2:]), bench.facts)


@rule()
def a_call_without_an_id_gets_one(bench: Bench) -> None:
    """A call without an id gets one of its own, and two calls never have the same."""
    for identity in (None, ""):
        calls = tuple(UpstreamToolCall(call.name, call.arguments, identity) for call in CALLS)
        answer = _calling(bench, calls, ChunkShape(6))
        for place, reply in bench.serve(answer):
            check_calls(place, content_of(place, reply), answer, bench.facts)


@rule(lambda facts: not facts.calls_whole, needs=PIECES)
def a_repeated_head_is_no_new_call(bench: Bench) -> None:
    """A fragment that repeats its call's id, or brings an empty name, goes on with that call."""
    for again in ({"id": "call_c"}, {"id": "call_c", "type": "function"}, {"id": None}, {"id": ""}):
        chunks = [
            _fragment(0, {"name": "get_weather", "arguments": ""}, id="call_c", type="function"),
            _fragment(0, {"name": None, "arguments": '{"city": '}, **again),
            _fragment(0, {"name": "", "arguments": '"Oslo"}'}, **again),
            piece({}, "tool_calls"),
        ]
        for place, reply in bench.serve(bench.engine.stream(chunks)):
            check_calls(place, content_of(place, reply), _calling(bench, CALLS[2:]), bench.facts)
            check_stop(place, reply, ("tool_use", None))


@rule()
def calls_without_numbers_are_told_apart(bench: Bench) -> None:
    """Calls of a stream that come whole and without an index are as many calls."""
    answer = _calling(bench, CALLS, ChunkShape(0, numbered=False))
    check_all(bench.serve(answer), answer, bench.facts)


@rule(lambda facts: not facts.calls_whole, needs=PIECES)
def a_call_cut_by_the_limit_keeps_its_head(bench: Bench) -> None:
    """A call that the token limit cut keeps its name and id, ends in max_tokens, and takes no whole call with it."""
    cut = UpstreamToolCall("get_weather", '{"city": "Par', "call_b")
    for calls in ((cut,), (CALLS[0], cut)):
        answer = bench.engine.answer(text=None, tool_calls=calls, finish_reason="length", shape=ChunkShape(3))
        for place, reply in bench.serve(answer):
            content = content_of(place, reply)
            same(place, "tools called", [block["name"] for block in content], ["get_weather"] * len(calls))
            check_stop(place, reply, ("max_tokens", None))
            need("Par" in str(content[-1]["input"]), f"{place}: the arguments that came before the limit are lost")
            check_calls(place, content[:-1], _calling(bench, calls[:-1]), bench.facts)


@rule()
def names_of_tools_are_the_clients(bench: Bench) -> None:
    """A tool whose name the engine would not take goes under another one, and is called by the client's."""
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in (LONG, "get_weather")]
    names = [tool["function"]["name"] for tool in bench.sent({"tools": tools})["tools"]]
    need(all(0 < len(name) <= 64 for name in names), f"a tool goes to the engine under the name {names[0]!r}")
    need(len(set(names)) == len(names), f"two tools go to the engine under the name {names[0]!r}")
    answer = _calling(bench, tuple(UpstreamToolCall(name, '{"a": 1}', f"call_{name[-4:]}") for name in names))
    for place, reply in bench.serve(answer, request={"tools": tools}):
        called = [block["name"] for block in content_of(place, reply)]
        same(place, "tools called", called, [LONG, "get_weather"])


@rule()
def names_arrive_as_they_are(bench: Bench) -> None:
    """A tool's name arrives as the client wrote it: capitals, underscores, hyphens and digits."""
    names = ("Bash", "WebFetch", "mcp__Git_Hub__get-log2", "functions", "x")
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    answer = _calling(bench, tuple(UpstreamToolCall(name, "{}", f"call_{name}") for name in names))
    check_all(bench.serve(answer, request={"tools": tools}), answer, bench.facts)


def _calling(bench: Bench, calls: tuple[UpstreamToolCall, ...], shape: ChunkShape = ChunkShape(4)) -> Any:  # noqa: B008
    return bench.engine.answer(text=None, tool_calls=calls, finish_reason="tool_calls", shape=shape)


def _fragment(index: int, function: dict[str, Any], **more: Any) -> dict[str, Any]:
    return piece({"tool_calls": [{"index": index, **more, "function": function}]})


RULES: Final[tuple[Rule, ...]] = (
    a_call_arrives_whole,
    several_calls_arrive_in_order,
    interleaved_calls_are_told_apart,
    a_call_without_arguments_has_an_empty_input,
    text_around_calls_is_kept,
    arguments_that_are_an_object_are_read,
    a_call_without_an_id_gets_one,
    a_repeated_head_is_no_new_call,
    calls_without_numbers_are_told_apart,
    a_call_cut_by_the_limit_keeps_its_head,
    names_of_tools_are_the_clients,
    names_arrive_as_they_are,
)
