"""vLLM (recorded 0.32, read 0.33).

`choices[].stop_reason` holds the matched stop string, a token's number, or null; reasoning is in `reasoning`
(`reasoning_content` before 0.12). At most four stop strings are taken, and `reasoning_effort` also switches the
template's thinking; templates call that switch `enable_thinking` or `thinking`, and look at no other. A schema for the
answer keeps the model from calling tools (vllm#39929). Unless thinking is switched off, the reasoning parsers take what
continues a text for reasoning. A server without a reasoning parser refuses a thinking budget, a stream's behind a 200;
the request is then sent without.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import attrs

from core import Request, Route, TextBlock, ThinkingConfig, ToolUseBlock, hookimpl
from core.chat import Call, Chunk, Content, Dialect, LenientCall, ReasoningField, StopField, UpstreamClient

DIALECT: Final = Dialect(
    stop_report="match",
    top_k=True,
    prefill="continue",
    reasoning_history="reasoning",
    thinking_off={"chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
    thinking_on={"chat_template_kwargs": {"enable_thinking": True, "thinking": True}},
    thinking_budget_field="thinking_token_budget",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    schema_with_tools=False,
    count="tokenize",
)


@attrs.frozen(eq=False)
class PatientCall(Call):
    """Has begun when the first chunks of an answer with a thinking budget are there: they may be its refusal."""

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        """Send the request; the chunks of its answer."""
        chunks = await super().begin()
        if not (self.request.thinking and self.request.thinking.budget_tokens):
            return chunks
        first = await anext(chunks, None)
        return chunks if first is None else self._owned(_behind(first, chunks))


@attrs.frozen(eq=False)
class VLLMCall(LenientCall, PatientCall):
    """Made again without its thinking budget when that is refused."""


@attrs.frozen(eq=False)
class VLLM:
    """vLLM: reasoning in `reasoning`, the matched stop string in `choices[].stop_reason`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> VLLMCall:
        """The call, in this dialect."""
        return VLLMCall(_in_text(request), route, client, DIALECT, switches=("thinking_token_budget",))

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """How this engine says why it stopped."""
        return StopField("stop_reason", request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning", "reasoning_content"))


def _in_text(request: Request) -> Request:
    """The request, its thinking switched off when the last turn is a text of the model's that the answer continues."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "assistant" or any(isinstance(block, ToolUseBlock) for block in last.content):
        return request
    begun = any(isinstance(block, TextBlock) and block.text for block in last.content)
    return attrs.evolve(request, thinking=ThinkingConfig("disabled")) if begun else request


async def _behind(first: list[Chunk], chunks: AsyncIterator[list[Chunk]]) -> AsyncGenerator[list[Chunk]]:
    yield first
    async for more in chunks:
        yield more
