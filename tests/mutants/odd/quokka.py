"""Quokka, an engine that has the shape of chat completions and few of its words, and its correct backend.

Reasoning is in `inner_voice`, a list of `{"say": text}`, or between `[[think]]` tags. `stop` is ignored. Ends, counts,
errors and the token limit have words of their own; a stream ends without [DONE]; calls are numbered from 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from core import ContentTranslator, Request, Route, StopTranslator, UpstreamCall, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, ProblemField, ReasoningField, UpstreamClient, UsageField
from core.testing import EngineFacts

DIALECT: Final = Dialect(
    max_tokens_field="limit_tokens",
    max_tokens_limit=4096,
    stop=False,
    stream_usage=False,
    response_format="none",
    images="none",
    tool_choice=("auto",),
    parallel_tool_calls=False,
)
ENDS: Final = {"done": "stop", "length_cap": "length", "call": "tool_calls", "blocked": "content_filter"}
KINDS: Final = {"overload": "overloaded", "prompt_too_long": "context_length_exceeded", "bad_key": "authentication"}
PROBLEM: Final = ProblemField("problem", message="why", word="kind", words=KINDS, retry_after="retry-in")
VOICE: Final = ReasoningField("inner_voice", texts=("say",))
STATS: Final = UsageField("stats", "in", "out")


@attrs.frozen(eq=False)
class Quokka:
    """A mutant overrides one of `call`, `content` and `stop`, or `wraps`."""

    wraps: ClassVar[tuple[Any, ...]] = (("think_tags", {"pairs": [["[[think]]", "[[/think]]"]]}), "stop_scan")

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        """The call."""
        return self.call(request, route, client)

    @hookimpl
    def translate_content(self) -> ContentTranslator:
        """Reasoning, text, calls and counts."""
        return self.content()

    @hookimpl
    def translate_stop(self) -> StopTranslator:
        """Why it ended."""
        return self.stop()

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, DIALECT, problem=PROBLEM)

    def content(self) -> ContentTranslator:
        return Content(VOICE, usage=STATS)

    def stop(self) -> StopTranslator:
        return FinishReason(ENDS)


def own_delta(delta: dict[str, Any]) -> dict[str, Any]:
    """Reasoning as a list of what is said."""
    if (thought := delta.pop("reasoning_content", None)) is not None:
        delta["inner_voice"] = [{"say": said} for said in (thought[:2], thought[2:])]
    return delta


def own_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """Counts in `stats`, numbers for ids, and objects for the arguments of a whole answer."""
    if usage := chunk.pop("usage", None):
        chunk["stats"] = {"in": usage["prompt_tokens"], "out": usage["completion_tokens"]}
    for choice in chunk["choices"]:
        delta = choice.get("message") or choice.get("delta")
        for at, call in enumerate(delta.get("tool_calls") or ()):
            if call.get("id") is not None:
                call["id"] = call.get("index", at)
            if "message" in choice:
                call["function"]["arguments"] = _object(call["function"]["arguments"])
    return chunk


def _object(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def own_error(
    body: dict[str, Any], status: int, headers: Mapping[str, str]
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """A `problem`, and the header `retry-in`."""
    error = body["error"]
    word = error.get("type") or f"http_{status}"
    kinds = {"overloaded_error": "overload", "context_length_exceeded": "prompt_too_long", "invalid_api_key": "bad_key"}
    problem = {"why": error["message"], "kind": kinds.get(word, word)}
    return {"problem": problem}, {"retry-in": headers["retry-after"]} if "retry-after" in headers else {}


FACTS: Final = EngineFacts.of(
    DIALECT,
    tags=("[[think]]", "[[/think]]"),
    finish_reasons={"stop": "done", "length": "length_cap", "tool_calls": "call", "content_filter": "blocked"},
    rewrite=own_delta,
    rewrite_chunk=own_chunk,
    rewrite_error=own_error,
    done=False,
    tool_ids=False,
    cached_tokens=False,
)
