"""The rules of the translators: what they give, chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Final

from core.deltas import Delta, Stop, Text, Thinking, ToolUse
from core.testing.answers import ChunkShape, UpstreamAnswer
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.direct import Translators, asking
from core.testing.kit.engine import piece
from core.testing.kit.expect import brief, same, stop_of
from core.testing.kit.rule import Rule, rule
from core.testing.kit.tools import CALLS


def _translators(bench: Bench, text: str = "Hi", stops: tuple[str, ...] = ()) -> Translators:
    return Translators(bench.assembly().back(), asking(text, stop_sequences=stops), bench.engine)


def _answers(bench: Bench) -> list[UpstreamAnswer]:
    engine, shape = bench.engine, ChunkShape(5)
    return [
        engine.answer(text="One, two, three.", reasoning="Count to three.", shape=shape),
        engine.answer(text="I look.", tool_calls=CALLS, finish_reason="tool_calls", shape=shape),
        engine.answer(text=None, tool_calls=CALLS, shape=ChunkShape(3, interleaved=True), usage_at="finish"),
        engine.answer(text="One", finish_reason="length", usage_at="every"),
        engine.answer(text=None, usage=None),
    ]


@rule()
def flush_neither_hangs_nor_raises(bench: Bench) -> None:
    """`flush` returns, and raises nothing: after a whole answer, after a part of one, and after nothing."""
    for answer in _answers(bench):
        chunks = bench.engine.chunks(answer)
        for size in (len(chunks), len(chunks) - 1, len(chunks) // 2, 1, 0):
            _translators(bench).run(chunks[:size])
            _translators(bench, stops=("END",)).run(chunks[:size])


@rule()
def there_is_one_stop_and_nothing_behind_it(bench: Bench) -> None:
    """A whole answer ends with exactly one Stop, and nothing comes behind it."""
    for answer in _answers(bench):
        for stops in ((), ("END",)):
            deltas = _translators(bench, stops=stops).run(bench.engine.chunks(answer))
            number = sum(isinstance(delta, Stop) for delta in deltas)
            need(number == 1, f"a whole answer gave {number} Stops: {brief(deltas)}")
            need(isinstance(deltas[-1], Stop), f"behind the Stop came {brief(deltas[-1])}")


@rule()
def no_end_is_no_stop(bench: Bench) -> None:
    """An answer that the engine did not finish gets no Stop; what was held of it is let go."""
    for answer in _answers(bench):
        chunks = bench.engine.unfinished(answer)
        for size in (len(chunks), len(chunks) // 2, 0):
            deltas = _translators(bench).run(chunks[:size])
            need(not any(isinstance(delta, Stop) for delta in deltas), f"a Stop came of {size} unfinished chunks")


@rule()
def deltas_are_well_formed(bench: Bench) -> None:
    """No delta is empty; a call's first piece has id and name, its pieces come together, and make a JSON object."""
    for answer in _answers(bench):
        deltas = _translators(bench).run(bench.engine.chunks(answer))
        empty = [delta for delta in deltas if isinstance(delta, Text | Thinking) and not delta.text]
        need(not empty, f"an empty delta was given: {empty[:1]}")
        _check_calls([delta for delta in deltas if isinstance(delta, ToolUse)], answer, deltas)


def _check_calls(pieces: Sequence[ToolUse], answer: UpstreamAnswer, deltas: Sequence[Delta]) -> None:
    indexes = list(dict.fromkeys(each.index for each in pieces))
    same("translators", "numbers of the calls", indexes, list(range(len(answer.tool_calls))))
    need(indexes == sorted(each.index for each in pieces) or _together(pieces), f"calls overlap: {brief(deltas)}")
    for index, call in enumerate(answer.tool_calls):
        first, *rest = [each for each in pieces if each.index == index]
        need(first.id and first.name, f"the first piece of a call has no id or no name: {first}")
        need(not any(each.id or each.name for each in rest), "a later piece of a call has an id or a name")
        joined = "".join(each.arguments for each in (first, *rest))
        same("translators", "input of a call", json.loads(joined or "{}"), json.loads(call.arguments or "{}"))


def _together(pieces: Sequence[ToolUse]) -> bool:
    order = [each.index for each in pieces]
    return order == sorted(order)


@rule()
def nothing_is_held_back(bench: Bench) -> None:
    """Text and reasoning are given with the chunk that brought them, and a call's head before its arguments end."""
    engine, field, tags = bench.engine, bench.facts.reasoning_field, bench.facts.tags
    kinds = [("content", Text, "")] + ([(field, Thinking, "")] if field else [])
    kinds += [("content", Thinking, tags[0])] if tags else []
    for (name, kind, before), stops in product(kinds, ((), ("END",))):
        translators, told = _translators(bench, stops=stops), ""
        translators.feed(piece({"role": "assistant", "content": before}))
        for word in ("One", ", two", ", three", ", four"):
            told += word
            translators.feed(piece({name: word}))
            given = _said(translators, kind)
            need(given == told, f"after {told!r} the client has {given!r}: the rest is held back")
    call = engine.answer(text=None, tool_calls=CALLS[:1], finish_reason="tool_calls", shape=ChunkShape(8))
    translators = _translators(bench)
    for chunk in engine.unfinished(call):
        translators.feed(chunk)
    given = "".join(delta.name for step in translators.steps for delta in step if isinstance(delta, ToolUse))
    need(given == CALLS[0].name, "a tool call is held back until the answer ends")


def _said(translators: Translators, kind: type[Text | Thinking]) -> str:
    return "".join(delta.text for step in translators.steps for delta in step if isinstance(delta, kind))


@rule()
def requests_share_nothing(bench: Bench) -> None:
    """Two answers that are translated in turns, or one after the other, know nothing of each other."""
    engine, back, stops = bench.engine, bench.assembly().back(), ("END",)
    answers = [engine.stopped("END", text="One"), *_answers(bench)]
    lines = [engine.chunks(answer) for answer in answers]
    alone = [_plainly(_translators(bench, stops=stops).run(line)) for line in lines]
    running = [Translators(back, asking(stop_sequences=stops), engine) for _ in answers]
    for turn in range(max(map(len, lines))):
        for translators, line in zip(running, lines, strict=True):
            if turn < len(line):
                translators.feed(line[turn])
    for number, translators in enumerate(running):
        translators.flush()
        deltas = [delta for step in translators.steps for delta in step]
        same("an answer beside others", "outcome", _plainly(deltas), alone[number])
        if number:
            told = [delta.reason for delta in deltas if isinstance(delta, Stop)]
            same("an answer beside others", "stop", told, [stop_of(answers[number])[0]])
    again = [_plainly(Translators(back, asking(stop_sequences=stops), engine).run(line)) for line in lines]
    same("answers after others", "outcome", again, alone)


def _plainly(deltas: Sequence[Delta]) -> str:
    """The deltas, as text, without ids that may have been made."""
    return repr(
        [delta if not isinstance(delta, ToolUse) else (delta.index, delta.name, delta.arguments) for delta in deltas]
    )


@rule()
def translators_are_new_each_time(bench: Bench) -> None:
    """Each request has translators of its own, and its chunks and its request stay as they were."""
    back = bench.assembly().back()
    request = asking(stop_sequences=("END",), tools=())
    before = repr(request)
    one, two = (Translators(back, request, bench.engine) for _ in range(2))
    for name in ("_content", "_stop"):
        need(getattr(one, name) is not getattr(two, name), "two requests are given one and the same translator")
    for chunk in bench.engine.chunks(bench.engine.answer(reasoning="Hm.")):
        one.feed(chunk)
        same("translators", "chunk after it was fed", one.given[-1], one.before[-1])
    one.flush()
    need(repr(request) == before, "the request was changed while its answer was translated")


RULES: Final[tuple[Rule, ...]] = (
    flush_neither_hangs_nor_raises,
    there_is_one_stop_and_nothing_behind_it,
    no_end_is_no_stop,
    deltas_are_well_formed,
    nothing_is_held_back,
    requests_share_nothing,
    translators_are_new_each_time,
)
