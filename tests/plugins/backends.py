"""What the tests of the backends share: a plugin behind its hooks, and recorded answers put through them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import attrs
import pluggy

from core.chat import Call, ChunkReader, UpstreamClient
from core.config import BackendConfig
from core.deltas import Delta, State, Stop, Text, Thinking, ToolUse, Usage
from core.hookspecs import PROJECT, Hooks
from core.request import (
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
from core.route import Candidate, Route
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply

WIRE = Path(__file__).parent.parent / "wire"
ROUTE = Route((Candidate("up", "upstream-model"),))
HI = Request("message", messages=(Message("user", (TextBlock("hi"),)),), stop_sequences=("5", "END"))
FULL = attrs.evolve(
    HI,
    messages=(*HI.messages, Message("assistant", (ThinkingBlock("t"), TextBlock("a"))), *HI.messages),
    max_tokens=9,
    temperature=0.5,
    top_k=3,
    tools=(Tool("f", {"type": "object"}),),
    tool_choice=ToolChoice("tool", "f", parallel=False),
    thinking=ThinkingConfig("enabled", 2048),
    effort="xhigh",
)
OFF = attrs.evolve(HI, thinking=ThinkingConfig("disabled"))
ENDED = Stop("end_turn")


def loop(identity: str = "call_1", state: State | None = None, thinking: str = "t") -> Request:
    """A request after one tool call; `state` is what the answer with the call gave to be kept."""
    answer = (ThinkingBlock(thinking, state=state), TextBlock("a"), ToolUseBlock(identity, "f", {"a": 1}))
    result = (ToolResultBlock(identity, (TextBlock("ok"),)), TextBlock("go on"))
    return attrs.evolve(FULL, messages=(*HI.messages, Message("assistant", answer), Message("user", result)))


@attrs.frozen
class Outcome:
    """A folded answer; `states` are what the engine wants back."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    kinds: tuple[str, ...] = ()
    states: tuple[State, ...] = ()


class Backend:
    """One backend plugin, called through pluggy as the gateway does."""

    def __init__(self, plugin: object) -> None:
        self.manager = pluggy.PluginManager(PROJECT)
        self.manager.add_hookspecs(Hooks)
        self.manager.register(plugin)
        self.manager.check_pending()

    def body(self, request: Request = FULL, **table: Any) -> dict[str, Any]:
        """The body that would be sent."""
        client = UpstreamClient(BackendConfig("up", (), url="http://host", **table))
        call = self.manager.hook.call_upstream(request=request, route=ROUTE, client=client)
        assert isinstance(call, Call)
        return call.body()

    async def asked(self, request: Request, refusal: Any, field: str) -> list[Any]:
        """What the field was in each body, when the upstream refuses the first one and answers the second."""
        replies = UpstreamReply.json(refusal, status=400), UpstreamReply(UpstreamAnswer().json())
        async with MockUpstream(*replies) as upstream:
            client = UpstreamClient(BackendConfig("up", (), url=upstream.url))
            async with self.manager.hook.call_upstream(request=request, route=ROUTE, client=client) as batches:
                assert [chunk async for batch in batches for chunk in batch]
            await client.aclose()
        return [exchange.json.get(field) for exchange in upstream.exchanges]

    def translate(self, data: bytes, request: Request = HI) -> Outcome:
        """An upstream's bytes, folded."""
        reader = ChunkReader()
        content = self.manager.hook.translate_content(request=request, route=ROUTE)
        stop = self.manager.hook.translate_stop(request=request, route=ROUTE)
        out: list[Delta] = []
        for chunk in [*reader.feed(data), *reader.flush()]:
            out += stop.feed(chunk, content.feed(chunk))
        assert reader.error is None
        return fold([*out, *stop.feed({}, content.flush()), *stop.flush()])

    def answer(self, **fields: Any) -> Outcome:
        """An answer made up, in both of its forms, which must agree."""
        made = UpstreamAnswer(**fields)
        whole, streamed = self.translate(made.json()), self.translate(made.sse())
        assert whole == streamed
        return whole

    def recorded(self, place: str, *stops: str) -> Outcome:
        """A recorded answer: folder and file under tests/wire."""
        return self.translate((WIRE / place).read_bytes(), attrs.evolve(HI, stop_sequences=stops))


def fold(deltas: list[Delta]) -> Outcome:
    """The deltas as an outcome; `kinds` are the blocks in their order."""
    stops = [delta for delta in deltas if isinstance(delta, Stop)]
    usages = [delta for delta in deltas if isinstance(delta, Usage)]
    calls: dict[int, tuple[str, str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolUse):
            name, arguments = calls.get(delta.index, (delta.name, ""))
            calls[delta.index] = (name, arguments + delta.arguments)
    blocks = [type(delta).__name__ for delta in deltas if isinstance(delta, Text | Thinking | ToolUse)]
    assert stops == [delta for delta in deltas[-1:] if isinstance(delta, Stop)]
    return Outcome(
        "".join(delta.text for delta in deltas if isinstance(delta, Text)),
        "".join(delta.text for delta in deltas if isinstance(delta, Thinking)),
        tuple(calls.values()),
        stops[-1] if stops else None,
        usages[-1] if usages else None,
        tuple(kind for kind, _ in groupby(blocks)),
        tuple(delta for delta in deltas if isinstance(delta, State)),
    )
