from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Chunk, Delta, Request, State, Stop, Text, Thinking, ToolChoice, ToolUse, Usage
from plugins.stop_scan.scanner import Scanner, Scope

TEXT: tuple[Scope, ...] = ("text",)
ALL: tuple[Scope, ...] = ("text", "thinking", "tools")
CALL = ToolUse(0, "", "call_1", "f")
ENDED = Stop("end_turn")


class Plain:
    """A stop translator that passes everything and has its say at the end."""

    def __init__(self, *last: Delta) -> None:
        self.last = last
        self.saw: list[Delta] = []

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.saw += deltas
        return deltas

    def flush(self) -> Sequence[Delta]:
        return self.last


def scan(*deltas: Delta, stops: Sequence[str] = ("END",), scopes: Sequence[Scope] = TEXT) -> list[list[Delta]]:
    """What each delta lets go, fed one by one, and the flush; up to a Stop."""
    scanner = Scanner(Plain(ENDED), Request("message"), stops, scopes)
    out: list[list[Delta]] = []
    for delta in deltas:
        out.append(list(scanner.feed({}, [delta])))
        if any(isinstance(each, Stop) for each in out[-1]):
            return out
    return [*out, list(scanner.flush())]


def flat(steps: list[list[Delta]]) -> list[Delta]:
    """All deltas but the counts."""
    return [delta for step in steps for delta in step if not isinstance(delta, Usage)]


def test_a_match_cuts_counts_and_ends() -> None:
    assert scan(Text("a E"), Text("ND b")) == [[Text("a ")], [Usage(1, 2), Stop("stop_sequence", "END")]]


def test_without_a_match_the_backends_end_is_the_end() -> None:
    assert scan(Text("a E"), Text("x"), Text(" EN")) == [[Text("a ")], [Text("Ex")], [Text(" ")], [Text("EN"), ENDED]]


@pytest.mark.parametrize("follows", [CALL, Thinking("t"), ENDED])
def test_held_text_goes_before_what_follows(follows: Delta) -> None:
    assert scan(Text("EN"), follows)[:2] == [[], [Text("EN"), follows]]


@pytest.mark.parametrize(("kind", "scopes"), [(Text, TEXT), (Thinking, ALL)])
def test_what_the_engine_wants_back_does_not_end_a_run(kind: type[Text | Thinking], scopes: Sequence[Scope]) -> None:
    state = State({"a": 1})
    steps = scan(kind("a EN"), state, kind("D b"), scopes=scopes)
    assert flat(steps) == [kind("a "), state, Stop("stop_sequence", "END")]
    assert flat(scan(kind("END"), state, scopes=scopes)) == [Stop("stop_sequence", "END")]


def test_counts_do_not_end_a_run() -> None:
    usage = Usage(3, 4)
    assert flat(scan(Text("EN"), usage, Text("D"))) == [Stop("stop_sequence", "END")]
    assert scan(Text("EN"), usage)[1] == [usage]


@pytest.mark.parametrize("between", [CALL, Thinking("t")])
def test_no_match_goes_across_what_is_between(between: Delta) -> None:
    assert flat(scan(Text("EN"), between, Text("D"))) == [Text("EN"), between, Text("D"), ENDED]


def test_a_match_that_waited_for_a_longer_one_is_found_when_something_else_follows() -> None:
    assert flat(scan(Text("a EN"), CALL, stops=("EN", "END"))) == [Text("a "), Stop("stop_sequence", "EN")]
    assert flat(scan(Text("a EN"), stops=("EN", "END"))) == [Text("a "), Stop("stop_sequence", "EN")]


def test_only_text_is_scanned_by_default() -> None:
    call = ToolUse(0, '{"x": "END"}')
    deltas = (Thinking("the END"), CALL, call, Text("the END"))
    assert flat(scan(*deltas)) == [*deltas[:3], Text("the "), Stop("stop_sequence", "END")]


def test_reasoning_is_scanned_when_it_shall_be() -> None:
    assert flat(scan(Thinking("the E"), Thinking("ND"), Text("x"), scopes=("thinking",))) == [
        Thinking("the "),
        Stop("stop_sequence", "END"),
    ]
    assert flat(scan(Text("the END"), scopes=("thinking",))) == [Text("the END"), ENDED]


def test_arguments_are_scanned_call_by_call_when_they_shall_be() -> None:
    other = ToolUse(1, '"D', "call_2", "f")
    got = flat(scan(ToolUse(0, '{"E', "call_1", "f"), ToolUse(0, "N"), other, ToolUse(1, " END"), scopes=("tools",)))
    assert got == [
        CALL,
        ToolUse(0, '{"'),
        ToolUse(0, "EN"),
        ToolUse(1, "", "call_2", "f"),
        ToolUse(1, '"D'),
        ToolUse(1, " "),
        Stop("stop_sequence", "END"),
    ]


def test_a_call_that_the_client_does_not_get_is_not_scanned() -> None:
    deltas = [ToolUse(0, '{"x": 1}', "call_1", "f"), ToolUse(1, '{"x": "END"}', "call_2", "f")]
    for parallel, wanted in ((False, ENDED), (True, Stop("stop_sequence", "END"))):
        request = Request("message", tool_choice=ToolChoice(parallel=parallel))
        scanner = Scanner(Plain(ENDED), request, ("END",), ("tools",))
        said = [*scanner.feed({}, deltas), *scanner.flush()]
        assert next(delta for delta in said if isinstance(delta, Stop)) == wanted


@pytest.mark.parametrize("scopes", [("text",), ("text", "tools")])
def test_the_head_of_a_call_comes_once(scopes: Sequence[Scope]) -> None:
    said = flat(scan(ToolUse(0, '{"x": 1}', "call_1", "f"), scopes=scopes))
    calls = [delta for delta in said if isinstance(delta, ToolUse)]
    assert [(call.id, call.name) for call in calls if call.id or call.name] == [("call_1", "f")]
    assert "".join(call.arguments for call in calls) == '{"x": 1}'


def test_the_head_of_a_call_does_not_wait() -> None:
    assert scan(ToolUse(0, "EN", "call_1", "f"), scopes=ALL)[0] == [CALL]


def test_what_follows_the_match_in_one_chunk_is_only_counted() -> None:
    scanner = Scanner(Plain(), Request("message"), ("END",), ALL)
    whole: list[Delta] = [
        Thinking("a" * 20),
        Text("b" * 17 + "END" + "c" * 40),
        CALL,
        ToolUse(0, "{}" * 10),
        Usage(9, 100),
    ]
    *kept, usage, stop = scanner.feed({}, whole)
    assert kept == [Thinking("a" * 20), Text("b" * 17)]
    assert stop == Stop("stop_sequence", "END")
    assert isinstance(usage, Usage)
    assert (usage.input_tokens, usage.output_tokens) == (9, 39)


def test_the_backends_translator_sees_everything_and_its_held_text_is_scanned() -> None:
    inner = Plain(Text("ND of"), ENDED)
    scanner = Scanner(inner, Request("message"), ("END",), TEXT)
    assert scanner.feed({"a": 1}, [Text("E")]) == []
    assert flat([list(scanner.flush())]) == [Stop("stop_sequence", "END")]
    assert inner.saw == [Text("E")]


def test_an_engine_that_reports_a_match_is_believed() -> None:
    reported = Stop("stop_sequence", "END")
    assert flat([list(Scanner(Plain(reported), Request("message"), ("END",), TEXT).flush())]) == [reported]


def test_an_engine_that_reports_a_match_and_counts_nothing_wrote_at_least_that() -> None:
    reported = Stop("stop_sequence", "END")

    def counted(*deltas: Delta) -> list[Delta]:
        scanner = Scanner(Plain(reported), Request("message"), ("END",), TEXT)
        return [*scanner.feed({}, deltas), *scanner.flush()]

    assert counted() == [Usage(1, 1), reported]
    assert counted(Text("a b c"), Usage(9)) == [Text("a b c"), Usage(9), Usage(9, 2), reported]
    assert counted(Usage(9, 3)) == [Usage(9, 3), reported]


kinds = st.sampled_from((Text, Thinking))


@given(st.lists(st.tuples(kinds, st.text("EN D", min_size=1, max_size=8)), max_size=8), st.sampled_from((TEXT, ALL)))
def test_the_cut_of_the_pieces_changes_nothing(
    runs: list[tuple[type[Text | Thinking], str]], scopes: Sequence[Scope]
) -> None:
    stops = ("END", "ENDE", "DD", "N E")

    def folded(deltas: list[Delta]) -> tuple[list[tuple[str, str]], Delta]:
        blocks: list[tuple[str, str]] = []
        for delta in deltas[:-1]:
            assert isinstance(delta, Text | Thinking)
            name = type(delta).__name__
            if blocks and blocks[-1][0] == name:
                blocks[-1] = (name, blocks[-1][1] + delta.text)
            else:
                blocks.append((name, delta.text))
        return blocks, deltas[-1]

    whole = scan(*(kind(text) for kind, text in runs), stops=stops, scopes=scopes)
    single = scan(*(kind(each) for kind, text in runs for each in text), stops=stops, scopes=scopes)
    assert folded(flat(whole)) == folded(flat(single))
