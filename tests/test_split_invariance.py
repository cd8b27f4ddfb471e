"""One answer, however the wire is cut and whichever side streams: for every backend, against an oracle of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core import Request, Route, hookimpl
from core.chat import Call, UpstreamClient
from core.testing import (
    Assembly,
    BrokenAnswer,
    ChunkShape,
    Framing,
    Mode,
    Reply,
    UpstreamAnswer,
    UpstreamToolCall,
    assert_split_invariant,
    strategies,
)
from plugins.demo import DIALECT, Demo

STOPS = ("5", "END", "\n\n#", "עצור")
REQUEST = {"stop_sequences": list(STOPS)}
EITHER = (("reasoning",), ("reasoning_content",), ("reasoning", "reasoning_content"))

thorough = settings(
    max_examples=int(os.environ.get("HOOKLINE_EXAMPLES", "35")),
    deadline=None,
    derandomize="HOOKLINE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@attrs.frozen(eq=False)
class DemoOnTheWire(Demo):
    """The demo's translators behind a real call: its engine's shapes, served over HTTP."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:  # type: ignore[override]
        return Call(request, route, client, DIALECT)


@attrs.frozen
class Engine:
    """What one backend's upstream sends."""

    plugins: tuple[str | type, ...]
    reasoning: tuple[tuple[str, ...], ...] = EITHER
    stop_field: str = ""
    verbose: bool = False
    scanned: bool = False
    """Whether a stop sequence in the text ends the answer: tests/plugins/stop_scan/ has the oracle of that."""


ENGINES = {
    "demo": Engine((DemoOnTheWire,), (("reasoning_content",),), "stop_reason"),
    "vllm": Engine(("vllm",), EITHER, "stop_reason"),
    "sglang": Engine(("sglang",), (("reasoning_content",),), "matched_stop"),
    "llama_cpp": Engine(("llama_cpp",), (("reasoning_content",),), verbose=True),
    "ollama": Engine(("ollama",), (("reasoning",),), scanned=True),
    "openai": Engine(("openai",), EITHER, scanned=True),
}


@pytest.fixture(scope="module")
def assemblies() -> dict[str, Assembly]:
    return {name: Assembly(engine.plugins) for name, engine in ENGINES.items()}


def answers_of(engine: Engine) -> st.SearchStrategy[UpstreamAnswer]:
    whole = strategies.answers(reasoning_fields=engine.reasoning, stop_field=engine.stop_field, stops=STOPS, ids=False)
    if engine.scanned:
        return whole.filter(lambda answer: not any(stop in written(answer) for stop in STOPS))
    if not engine.verbose:
        return whole
    word = st.sampled_from((*STOPS, "</s>"))
    reports = st.sampled_from(({}, {"__verbose": {"stop_type": "eos", "stopping_word": ""}})) | word.map(
        lambda stop: {"__verbose": {"stop_type": "word", "stopping_word": stop}}
    )
    return st.builds(lambda answer, top: attrs.evolve(answer, top=top), whole, reports)


CALLS = (
    UpstreamToolCall("f", '{"a": "😀"}', "call_a"),
    UpstreamToolCall("f", '{"b": [1, 2, {}]}', "call_b"),
    UpstreamToolCall("g", "", None),
)
TYPICAL = {
    "text": UpstreamAnswer(text="Hello 😀\u2028 [DONE]", framing=Framing(eol="\r\n", comment="keep-alive")),
    "thinking": UpstreamAnswer(text="\n\n4", reasoning="\nTwo and two.\n", shape=ChunkShape(piece=1, nulls=True)),
    "only thinking": UpstreamAnswer(text=None, reasoning="Two and", finish_reason="length", usage_at="finish"),
    "calls": UpstreamAnswer(text="", tool_calls=CALLS, finish_reason="tool_calls", shape=ChunkShape(piece=3)),
    "calls in turns": UpstreamAnswer(reasoning="I call.", tool_calls=CALLS, shape=ChunkShape(3, interleaved=True)),
    "calls without numbers": UpstreamAnswer(tool_calls=CALLS, shape=ChunkShape(0, numbered=False, shared=True)),
    "refusal": UpstreamAnswer(text=None, refusal="I cannot.", usage_at="every", shape=ChunkShape(finish_early=True)),
    "filtered": UpstreamAnswer(text="Well", finish_reason="content_filter", usage=None),
    "halves": UpstreamAnswer(text="😀😀", shape=ChunkShape(1, halves=True), framing=Framing(ascii=True, done=False)),
    "no reason": UpstreamAnswer(text="Hi", finish_reason=None, framing=Framing(eol="\r", blank_lines=2, space=False)),
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", TYPICAL)
def test_a_typical_answer_is_the_same_however_it_comes(case: str, name: str, assemblies: dict[str, Assembly]) -> None:
    engine = ENGINES[name]
    answer = attrs.evolve(TYPICAL[case], reasoning_fields=engine.reasoning[0])
    for reply in assert_split_invariant(assemblies[name], answer, request=REQUEST, cuts=[(40, 41, 300)]).values():
        expect(answer, reply, None)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("match", [*STOPS, "</not-asked>", None])
def test_a_reported_stop_is_the_clients_or_none(name: str, match: str | None, assemblies: dict[str, Assembly]) -> None:
    engine = ENGINES[name]
    verbose = {"__verbose": {"stop_type": "word" if match else "eos", "stopping_word": match or ""}}
    answer = UpstreamAnswer(
        choice={engine.stop_field: match} if engine.stop_field else {}, top=verbose if engine.verbose else {}
    )
    replies = assert_split_invariant(assemblies[name], answer, request=REQUEST, cuts=[(40, 41, 300)])
    known = match in STOPS and bool(engine.stop_field or engine.verbose)
    for reply in replies.values():
        wanted = ("stop_sequence", match) if known else ("end_turn", None)
        assert (reply.message["stop_reason"], reply.message["stop_sequence"]) == wanted


@pytest.mark.parametrize("name", ENGINES)
def test_an_answer_is_the_same_however_it_comes(name: str, assemblies: dict[str, Assembly]) -> None:
    engine = ENGINES[name]
    assembly = assemblies[name]

    @thorough
    @given(answers_of(engine), st.lists(strategies.cuts(), min_size=1, max_size=3))
    def check(answer: UpstreamAnswer, cuts: list[tuple[int, ...]]) -> None:
        replies = assert_split_invariant(assembly, answer, request=REQUEST, cuts=cuts)
        for mode, reply in replies.items():
            assert reply.error is None, mode
            expect(answer, reply, reported_match(engine, answer))

    check()


@pytest.mark.parametrize("name", ENGINES)
def test_a_broken_answer_is_an_error_however_it_comes(name: str, assemblies: dict[str, Assembly]) -> None:
    engine = ENGINES[name]
    assembly = assemblies[name]

    @thorough
    @given(strategies.broken_answers(whole=answers_of(engine)), st.lists(strategies.cuts(), min_size=1, max_size=2))
    def check(broken: BrokenAnswer, cuts: list[tuple[int, ...]]) -> None:
        replies = assert_split_invariant(assembly, broken, request=REQUEST, cuts=cuts)
        for mode, reply in replies.items():
            assert reply.error is not None, mode
            assert reply.message.get("stop_reason") is None, mode
            assert mode.client or reply.status >= 400, mode
            assert broken.status < 400 or reply.status >= 400, mode
        delivered_before(broken, replies[Mode(client=True, upstream=True)])

    check()


def expect(answer: UpstreamAnswer, reply: Reply, match: str | None) -> None:
    """The message that the description stands for, made without any of hookline's own code."""
    content = reply.message["content"]
    thinking = [block["thinking"] for block in content if block["type"] == "thinking"]
    assert thinking == ([answer.reasoning] if answer.reasoning else [])
    text = written(answer)
    assert "".join(block["text"] for block in content if block["type"] == "text") == text
    order = [kind for kind, there in (("thinking", answer.reasoning), ("text", text)) if there]
    assert [block["type"] for block in content] == [*order, *["tool_use"] * len(answer.tool_calls)]
    calls = [block for block in content if block["type"] == "tool_use"]
    wanted = [(call.name, json.loads(call.arguments or "{}")) for call in answer.tool_calls]
    assert [(block["name"], block["input"]) for block in calls] == wanted
    assert (reply.message["stop_reason"], reply.message["stop_sequence"]) == expected_stop(answer, match)
    for name, count in expected_usage(answer).items():
        # What the engine does not count is estimated.
        assert reply.message["usage"][name] == count or (count == 0 and reply.message["usage"][name] > 0)
    assert reply.message["usage"].keys() == expected_usage(answer).keys()
    assert reply.message["model"] == "client-model"


def written(answer: UpstreamAnswer) -> str:
    """All text of the answer."""
    return (answer.text or "") + (answer.refusal or "")


def expected_stop(answer: UpstreamAnswer, match: str | None) -> tuple[str, str | None]:
    if match is not None:
        return "stop_sequence", match
    if answer.finish_reason == "content_filter" or answer.refusal:
        return "refusal", None
    if answer.finish_reason == "length":
        return "max_tokens", None
    return ("tool_use" if answer.tool_calls else "end_turn"), None


def expected_usage(answer: UpstreamAnswer) -> Mapping[str, int]:
    usage = answer.usage or {}
    return {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)}


def reported_match(engine: Engine, answer: UpstreamAnswer) -> str | None:
    """The client's stop sequence that the engine named."""
    verbose = answer.top.get("__verbose", {})
    value = verbose.get("stopping_word") if engine.verbose else answer.choice.get(engine.stop_field)
    return value if value in STOPS else None


def delivered_before(broken: BrokenAnswer, reply: Reply) -> None:
    """Whatever text came before the break was delivered, and nothing else."""
    whole = written(broken.answer)
    got = text_of(reply.message.get("content", ()))
    came = "".join(piece for chunk in broken.chunks() for piece in text_pieces(chunk))
    # Of a character in two halves the first may be all that came: it is held, and in the end replaced.
    assert whole.startswith(got) or (broken.answer.shape.halves and whole.startswith(got.removesuffix("\ufffd")))
    assert got.startswith(came.encode("utf-16", "surrogatepass").decode("utf-16", "ignore"))


def text_of(content: Sequence[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in content if block["type"] == "text")


def text_pieces(chunk: Mapping[str, Any]) -> list[str]:
    deltas = [choice["delta"] for choice in chunk.get("choices", ())]
    return [delta.get(field) or "" for delta in deltas for field in ("content", "refusal")]
