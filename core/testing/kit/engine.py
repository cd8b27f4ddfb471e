"""The engine of the facts: its answers as chunks and as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from core.testing.answers import Framing, UpstreamAnswer, UpstreamToolCall, dump
from core.testing.kit.facts import MATCH, EngineFacts
from core.testing.kit.rewriting import Chunk, copied, joined_calls, own_chunk, own_error, usual_body

TAGGED: Final = ", reasoning between tags"
"""In the place of an answer that was played in the second of the ways of an engine that has both."""


@attrs.frozen
class Engine:
    """Writes answers as the facts say. Chunks are in the usual form until they become bytes, or go through `own`."""

    facts: EngineFacts

    def answer(self, **fields: Any) -> UpstreamAnswer:
        """An answer of this engine, of which further fields are given."""
        usual = {
            "reasoning_fields": (self.facts.reasoning_field,),
            "framing": Framing(done=self.facts.done),
        }
        if not self.facts.reasons:
            fields.pop("reasoning", None)
        return UpstreamAnswer(**{**usual, **fields})

    def stopped(self, match: Any, **fields: Any) -> UpstreamAnswer:
        """An answer that ended with a report of the match, which may also be no string."""
        facts = self.facts
        choice = {facts.stop_field: match} if facts.stop_field else {}
        top = _filled(facts.stop_top, match)
        return self.answer(finish_reason=facts.stop_finish, choice=choice, top=top, **fields)

    def ways(self, answer: UpstreamAnswer) -> list[tuple[str, UpstreamAnswer]]:
        """The answer in each way that the engine has for its reasoning, with the way's name."""
        both = self.facts.tags is not None and self.facts.reasoning_field and answer.reasoning
        return [("", answer), *([(TAGGED, self._tagged(answer))] if both else [])]

    def chunks(self, answer: UpstreamAnswer) -> list[Chunk]:
        """The chunks of a stream, new ones each time, in the usual form."""
        inline = self.facts.tags is not None and not self.facts.reasoning_field
        return self._cut(copied((self._tagged(answer) if inline else answer).chunks()))

    def own(self, chunk: Chunk) -> Chunk:
        """A chunk of the usual form in the engine's own, a new one."""
        return own_chunk(self.facts, chunk)

    def usual(self, body: Any) -> Any:
        """The body that reached the engine, in the usual form."""
        return usual_body(self.facts, body)

    def wire(self, answer: UpstreamAnswer, *, stream: bool) -> bytes:
        """The bytes of one of the two forms."""
        if self.facts.tags is not None and not self.facts.reasoning_field:
            answer = self._tagged(answer)
        if stream:
            return answer.framing.stream(map(self.own, self._cut(answer.chunks())))
        return dump(self.own(answer.completion()), ascii_only=answer.framing.ascii).encode()

    def stream(self, chunks: Iterable[Any], *, done: bool | None = None) -> bytes:
        """The bytes of a stream of these chunks of the usual form."""
        framing = Framing(done=self.facts.done if done is None else done)
        return framing.stream(map(self.own, self._cut(list(chunks))))

    def failed(
        self, error: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """The body and the headers of an answer that is nothing but this error (`message`, perhaps `type`, `code`)."""
        body, own = own_error(self.facts, {"error": dict(error)}, status, headers)
        return dump(body).encode(), own

    def unfinished(self, answer: UpstreamAnswer) -> list[Chunk]:
        """The chunks before the one that tells the end."""
        chunks = self.chunks(answer)
        ends = [at for at, chunk in enumerate(chunks) if any(each.get("finish_reason") for each in chunk["choices"])]
        return chunks[: ends[0]] if ends else chunks

    def check(self) -> None:
        """Play one of each form. Raises FactError where a function among the facts cannot do it."""
        calls = (UpstreamToolCall("get_weather", '{"city": "Oslo"}', "call_a"),)
        answer = self.answer(text="One", reasoning="Hm.", tool_calls=calls, finish_reason="tool_calls")
        for stream in (True, False):
            for _, each in self.ways(answer):
                self.wire(each, stream=stream)
        for status in (200, 429):
            self.failed({"message": "no", "type": "server_error", "code": 500}, status, {"retry-after": "7"})

    def _cut(self, chunks: list[Chunk]) -> list[Chunk]:
        return joined_calls(chunks) if self.facts.calls_whole else chunks

    def _tagged(self, answer: UpstreamAnswer) -> UpstreamAnswer:
        """The answer with its reasoning between tags."""
        tags = self.facts.tags
        if tags is None or not answer.reasoning:
            return answer
        return attrs.evolve(answer, reasoning=None, text=f"{tags[0]}{answer.reasoning}{tags[1]}{answer.text or ''}")


def piece(delta: Mapping[str, Any], finish: str | None = None, **choice: Any) -> Chunk:
    """One chunk with this delta."""
    whole = {"index": 0, "delta": dict(delta), "finish_reason": finish, **choice}
    return {"id": "chatcmpl-7", "object": "chat.completion.chunk", "model": "upstream-model", "choices": [whole]}


def _filled(fields: Mapping[str, Any], match: Any) -> dict[str, Any]:
    return {
        name: _filled(value, match) if isinstance(value, Mapping) else (match if value == MATCH else value)
        for name, value in fields.items()
    }
