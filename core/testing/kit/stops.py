"""The rules of the stop: why an answer ended, and which of the client's stop sequences it was."""

from __future__ import annotations

from typing import Any, Final

from core.testing.answers import USAGE, UpstreamToolCall
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench, Played
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_all, check_stop, content_of, joined, same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule, rule, unless

STOPS: Final = ("5", "END", "\n\n#", "עצור")
MANY: Final = tuple(f"<end-{number}>" for number in range(40))
ODD: Final = 'a: "b"|c'
"""An engine that tells the match inside a longer string may part it at such signs."""
MATCH: Final = "those with a `stop_field` or `stop_top`"
CHOICE: Final = "those with a `stop_field`"
WORDS: Final = unless(finish_reasons=...)
CALL: Final = (UpstreamToolCall("get_weather", '{"city": "Paris"}', "call_a"),)


def _ask(facts: EngineFacts) -> dict[str, Any]:
    """A request for stop sequences, no more than the engine takes."""
    return {"stop_sequences": list(STOPS[: facts.max_stops])}


def _unfound(facts: EngineFacts) -> str:
    if facts.reports_match:
        return ""
    return (
        "where the engine does not name the match (facts `stop_field`, `stop_top`), the backend has to find it: "
        'wraps = ("stop_scan",) on its class'
    )


def _reports(facts: EngineFacts) -> bool:
    return facts.reports_match


def _reports_anything(facts: EngineFacts) -> bool:
    return bool(facts.stop_field)


@rule(hint=WORDS)
def a_plain_end_is_end_turn(bench: Bench) -> None:
    """`stop` is end_turn, with stop sequences asked for and without, and also where the text ends like half of one."""
    ask = _ask(bench.facts)
    for request, text in (({}, "One, two."), (ask, "One, two."), (ask, "The EN"), (ask, "Below.\n\n")):
        answer = bench.engine.answer(text=text)
        check_all(bench.serve(answer, request=request), answer, bench.facts)


@rule(hint=WORDS)
def the_token_limit_is_max_tokens(bench: Bench) -> None:
    """`length` is max_tokens, behind text and behind calls."""
    for answer in (
        bench.engine.answer(text="One, two", finish_reason="length"),
        bench.engine.answer(text=None, tool_calls=CALL, finish_reason="length"),
    ):
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def calls_end_in_tool_use(bench: Bench) -> None:
    """An answer with calls ends in tool_use, also when the engine says `stop`."""
    for finish in ("tool_calls", "stop", "function_call"):
        answer = bench.engine.answer(text="I look.", tool_calls=CALL, finish_reason=finish)
        check_all(bench.serve(answer), answer, bench.facts)


@rule()
def tool_calls_without_a_call_is_end_turn(bench: Bench) -> None:
    """`tool_calls` behind an answer without a call is end_turn."""
    answer = bench.engine.answer(text="Done.", finish_reason="tool_calls")
    check_all(bench.serve(answer), answer, bench.facts, ("end_turn", None))


@rule(hint=WORDS)
def a_refusal_is_refusal(bench: Bench) -> None:
    """`content_filter` and the field `refusal` are refusals; the words of the refusal are text."""
    for answer in (
        bench.engine.answer(text="Well", finish_reason="content_filter"),
        bench.engine.answer(text=None, refusal="I cannot help."),
    ):
        check_all(bench.serve(answer), answer, bench.facts)


@rule(hint=_unfound)
def a_match_is_told(bench: Bench) -> None:
    """Whichever of the client's stop sequences ends the answer, the client is told which, and the text ends there."""
    every, most = (*STOPS, ODD), min(bench.facts.max_stops or len(STOPS), len(STOPS))
    together = [every[at : at + most] for at in range(0, len(every), most)]
    for asked in (*together, *((stop,) for stop in STOPS[:2])):
        for stop in asked:
            for place, reply in _stopped(bench, asked, stop):
                check_stop(place, reply, ("stop_sequence", stop))
                same(place, "text", joined(content_of(place, reply), "text"), "One, two, ")


def _stopped(bench: Bench, asked: tuple[str, ...], stop: str) -> list[Played]:
    """Serve what the engine would write: cut where it was asked to, else with the stop sequence in its text."""
    engine, request = bench.engine, {"stop_sequences": list(asked)}
    if stop in (bench.sent(request).get(bench.facts.stops_field) or ()):
        return bench.serve(engine.stopped(stop, text="One, two, "), request=request)
    return bench.serve(engine.answer(text=f"One, two, {stop} three."), request=request)


@rule(lambda facts: not facts.reports_match, needs="those without `stop_field` and `stop_top`", hint=_unfound)
def matches_in_the_text_are_found(bench: Bench) -> None:
    """Where the backend finds the stops: the first one counts, of two at one place the longer, in the text alone."""
    engine, request = bench.engine, {"stop_sequences": [*MANY, *STOPS[1:3], "END OF"]}
    if bench.sent(request).get(bench.facts.stops_field):
        return
    for text, kept, stop in (("a END OF b", "a ", "END OF"), (f"a {MANY[-1]} END", "a ", MANY[-1])):
        for place, reply in bench.serve(engine.answer(text=text, usage_at="every"), request=request):
            check_stop(place, reply, ("stop_sequence", stop))
            same(place, "text", joined(content_of(place, reply), "text"), kept)
            counts = reply.message["usage"]
            same(place, "usage.input_tokens", counts["input_tokens"], USAGE["prompt_tokens"])
            need(counts["output_tokens"] > 0, f"{place}: an answer that is cut has no output_tokens")
    calls = (UpstreamToolCall("get_weather", '{"city": "END"}', "call_a"),)
    for answer in (
        engine.answer(text="a # b end", reasoning="Then END."),
        engine.answer(text=None, tool_calls=calls, finish_reason="tool_calls"),
    ):
        check_all(bench.serve(answer, request=request), answer, bench.facts)


@rule(_reports, needs=MATCH)
def only_the_clients_match_counts(bench: Bench) -> None:
    """A reported stop string that the client did not ask for, or only resembles one of its own, is end_turn."""
    for match in ("</s>", "EN", "END ", "end", "55", ""):
        answer = bench.engine.stopped(match, text="One, two")
        check_all(bench.serve(answer, request=_ask(bench.facts)), answer, bench.facts, ("end_turn", None))
    answer = bench.engine.stopped("END", text="One, two")
    check_all(bench.serve(answer, request={}), answer, bench.facts, ("end_turn", None))


@rule(_reports_anything, needs=CHOICE)
def a_reported_token_is_end_turn(bench: Bench) -> None:
    """A report that is no string (a token's number, null, true, a list) is end_turn."""
    for match in (5, 128_001, 0, None, True, 5.0, ["5"]):
        answer = bench.engine.stopped(match, text="One, two")
        check_all(bench.serve(answer, request=_ask(bench.facts)), answer, bench.facts, ("end_turn", None))


@rule(_reports_anything, needs=CHOICE)
def a_report_beside_another_end_is_as_told(bench: Bench) -> None:
    """A null report beside `length`, calls or a refusal changes nothing."""
    engine = bench.engine
    empty: dict[str, Any] = {bench.facts.stop_field: None}
    for answer in (
        engine.answer(text="One", finish_reason="length", choice=empty),
        engine.answer(text=None, tool_calls=CALL, finish_reason="tool_calls", choice=empty),
        engine.answer(text="One", finish_reason="content_filter", choice=empty),
    ):
        check_all(bench.serve(answer, request=_ask(bench.facts)), answer, bench.facts)


@rule()
def an_unknown_finish_reason_is_an_end(bench: Bench) -> None:
    """A finish_reason that nobody knows is an end like any other."""
    for finish in ("eos", "FINISHED", "recitation"):
        answer = bench.engine.answer(text="One", finish_reason=finish)
        check_all(bench.serve(answer), answer, bench.facts, ("end_turn", None))


@rule()
def an_end_told_twice_is_one_end(bench: Bench) -> None:
    """A finish_reason that is followed by chunks without one, or repeated, stays the end it was."""
    chunks = [
        piece({"role": "assistant", "content": "One"}),
        piece({}, "length"),
        piece({"content": ""}),
        piece({}, "length"),
        piece({}),
    ]
    answer = bench.engine.answer(text="One", finish_reason="length", usage=None)
    check_all(bench.serve(bench.engine.stream(chunks)), answer, bench.facts)


@rule(
    lambda facts: facts.stop_finish != "stop" and not facts.reports_match,
    needs="those with a `stop_finish` that is not `stop`, and no `stop_field`",
)
def a_kind_of_stop_names_no_sequence(bench: Bench) -> None:
    """Of several stop sequences none is named where the engine tells only that one matched; a single one is."""
    bare = bench.assembly({"wraps": []})
    some = STOPS[: min(3, bench.facts.max_stops or 3)]
    several = [(some, ("end_turn", None))] if len(some) > 1 else []
    for asked, wanted in (*several, (STOPS[:1], ("stop_sequence", STOPS[0]))):
        answer = bench.engine.stopped(STOPS[1], text="One, two, ")
        for place, reply in bench.serve(answer, request={"stop_sequences": list(asked)}, assembly=bare):
            check_stop(place, reply, wanted)


@rule(lambda facts: facts.max_stops is not None, needs="those with `max_stops`")
def no_more_stops_are_sent_than_are_taken(bench: Bench) -> None:
    """The engine is sent no more stop sequences than it takes, and as many as it takes are not refused."""
    most = bench.facts.max_stops or 0
    for number in (most, most + 1):
        wire = bench.engine.wire(bench.engine.answer(), stream=False)
        upstream = bench.upstream(lambda _, wire=wire: [wire])  # type: ignore[misc]
        client = bench.ask(upstream, stop_sequences=[f"<{each}>" for each in range(number)])
        sent = [len(asked.body.get(bench.facts.stops_field) or ()) for asked in upstream.asked]
        need(max(sent, default=0) <= most, f"{max(sent, default=0)} stop sequences are sent to an engine for {most}")
        need(client.status == 200 or number > most, f"{number} stop sequences are answered by {client.status}")


RULES: Final[tuple[Rule, ...]] = (
    a_plain_end_is_end_turn,
    the_token_limit_is_max_tokens,
    calls_end_in_tool_use,
    tool_calls_without_a_call_is_end_turn,
    a_refusal_is_refusal,
    a_match_is_told,
    matches_in_the_text_are_found,
    only_the_clients_match_counts,
    a_reported_token_is_end_turn,
    a_report_beside_another_end_is_as_told,
    an_unknown_finish_reason_is_an_end,
    an_end_told_twice_is_one_end,
    a_kind_of_stop_names_no_sequence,
    no_more_stops_are_sent_than_are_taken,
)
