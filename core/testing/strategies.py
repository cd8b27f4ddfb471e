"""Hypothesis strategies for upstream answers: every kind of character, order, framing, usage and error we know of.

The only module of the kit that needs `hypothesis`.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
from hypothesis import strategies as st

from core.testing.answers import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from core.testing.broken import BrokenAnswer, error_bodies

AWKWARD = (
    "data: ",
    "\n\ndata: [DONE]\n\n",
    "[DONE]",
    "event: error\n",
    ": comment",
    "\r\n",
    "\r",
    "\n",
    "\x00",
    "\x1b[0m",
    "\x7f",
    "\u2028",
    "\u2029",
    "\x85",
    "\ufeff",
    "\ufffd",
    "😀",
    "👩‍👩‍👧",
    "e\u0301",
    "שלום",
    "مرحبا",
    "\u202e",
    "漢字",
    '{"error": {"message": "no"}}',
    '{"a": "\\u0041\\n"}',
    "\\",
    '"',
    "\\ud83d",
    "<b>&amp;</b>",
    "<tool_call>",
    "```json\n",
    " ",
    "\t",
)
"""Text that has broken readers of streams, JSON or tags."""


def texts(max_size: int = 6) -> st.SearchStrategy[str]:
    """Text put together from words, awkward pieces and arbitrary characters (no lone surrogates); seldom empty."""
    character = st.characters(exclude_categories=["Cs"])
    piece = st.sampled_from((*AWKWARD, "1, 2, 3", "word", "a ")) | st.text(character, max_size=4)
    return st.lists(piece, min_size=1, max_size=max_size).map("".join)


def tool_inputs() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects as tools take them."""
    leaf = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts(3)
    value = st.recursive(leaf, lambda inner: st.lists(inner, max_size=2) | _objects(inner), max_leaves=4)
    return _objects(value)


def tool_calls(max_size: int = 3, *, ids: bool = True) -> st.SearchStrategy[tuple[UpstreamToolCall, ...]]:
    """Calls with distinct ids (`ids` False: some without an id of their own); empty arguments are among them."""
    arguments = st.one_of(
        st.just(""), st.just("{}"), st.builds(json.dumps, tool_inputs(), ensure_ascii=st.booleans(), indent=st.none())
    )
    name = st.sampled_from(("get_weather", "Bash", "mcp__files__read-2", "a" * 64))
    head = st.sampled_from(("call_", "chatcmpl-tool-", "functions.f:", ""))
    prefix = head if ids else st.none() | st.just("") | head

    @st.composite
    def calls(draw: st.DrawFn) -> tuple[UpstreamToolCall, ...]:
        found = []
        for number in range(draw(st.integers(0, max_size))):
            start = draw(prefix)
            mark = f"{start}x{number}" if ids or start else start
            found.append(UpstreamToolCall(draw(name), draw(arguments), mark))
        return tuple(found)

    return calls()


def usages() -> st.SearchStrategy[dict[str, Any] | None]:
    """Usage objects: none, plain, with cached tokens, with null details."""
    count = st.integers(1, 100_000) | st.just(0)
    plain = st.fixed_dictionaries({"prompt_tokens": count, "completion_tokens": count})
    details = st.sampled_from((None, {}, {"cached_tokens": None}, {"cached_tokens": 3}))
    detailed = st.tuples(plain, details).map(lambda pair: {**pair[0], "prompt_tokens_details": pair[1]})
    return st.one_of(plain, detailed, st.none())


def shapes() -> st.SearchStrategy[ChunkShape]:
    """Ways to cut an answer into chunks."""
    return st.builds(
        ChunkShape,
        piece=st.sampled_from((0, 1, 2, 5, 40)),
        role=st.sampled_from(("empty", "null", "bare", "none")),
        numbered=st.sampled_from((True, True, False)),
        interleaved=st.booleans(),
        nulls=st.booleans(),
        shared=st.booleans(),
        finish_early=st.booleans(),
        halves=st.booleans(),
    )


def framings() -> st.SearchStrategy[Framing]:
    """Ways to put chunks on the wire."""
    return st.builds(
        Framing,
        eol=st.sampled_from(("\n", "\n", "\r\n", "\r")),
        comment=st.sampled_from(("", "", "keep-alive", "OPENROUTER PROCESSING")),
        blank_lines=st.integers(0, 2),
        done=st.booleans(),
        space=st.booleans(),
        ascii=st.booleans(),
    )


@st.composite
def answers(
    draw: st.DrawFn,
    *,
    reasoning_fields: tuple[tuple[str, ...], ...] = (("reasoning_content",), ("reasoning",)),
    stop_field: str = "",
    stops: tuple[str, ...] = (),
    ids: bool = True,
) -> UpstreamAnswer:
    """A whole, well-ended answer.

    `reasoning_fields` are the places where the engine puts its reasoning; `stop_field` names the field of the choice
    that reports the match (one of `stops`, another string, a token id, null or nothing).
    """
    calls = draw(st.one_of(tool_calls(ids=ids), st.just(())))
    reasons: tuple[str | None, ...] = ("stop", "length", "content_filter", "tool_calls", "function_call", None)
    matched = st.sampled_from((*stops, "</not-asked>", 128_001, None))
    choice = draw(st.just({}) | st.builds(lambda match: {stop_field: match}, matched)) if stop_field else {}
    finish = draw(st.sampled_from(reasons))
    framing, shape = draw(framings()), draw(shapes())
    # Without a reason, only [DONE] tells that the answer is whole.
    done = framing.done or finish is None
    return UpstreamAnswer(
        text=draw(st.one_of(texts(), texts(), st.none(), st.just(""))),
        reasoning=draw(st.one_of(st.none(), texts(), st.just(""))),
        reasoning_fields=draw(st.sampled_from(reasoning_fields)),
        tool_calls=calls,
        refusal=draw(st.one_of(st.none(), st.none(), st.none(), texts(2))),
        finish_reason=finish,
        choice=choice,
        usage=draw(usages()),
        usage_at=draw(st.sampled_from(("apart", "finish", "every"))),
        shape=shape,
        framing=attrs.evolve(framing, done=done, ascii=framing.ascii or shape.halves),
    )


@st.composite
def broken_answers(draw: st.DrawFn, *, whole: st.SearchStrategy[UpstreamAnswer] | None = None) -> BrokenAnswer:
    """An answer that fails: an HTTP error, an error object in the midst, or the end of the bytes anywhere before it."""
    answer = draw(whole if whole is not None else answers())
    kind = draw(st.sampled_from(("status", "error", "cut")))
    if kind == "status":
        status = draw(st.sampled_from((400, 401, 403, 404, 408, 413, 422, 424, 429, 498, 500, 502, 503, 504, 529)))
        body, content_type = draw(st.sampled_from(error_bodies("the words of the upstream", status)))
        return BrokenAnswer.refused(answer, status, body, content_type)
    if kind == "error":
        error = draw(st.sampled_from(({"message": "broke", "type": "server_error", "code": 500}, "broke")))
        return BrokenAnswer.with_error(answer, error)
    return BrokenAnswer.cut_off(answer, draw(st.floats(0, 1, exclude_max=True)))


def cuts(max_cuts: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    """Places to cut at, taken modulo the number of bytes."""
    return st.lists(st.integers(1, 100_000), min_size=1, max_size=max_cuts).map(tuple)


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(("city", "path", "", "a b", "ключ", "input", "object")), values, max_size=3)
