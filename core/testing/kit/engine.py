"""The engine of the facts: its answers as chunks and as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from core.testing.answers import Framing, UpstreamAnswer, dump
from core.testing.kit.facts import MATCH, EngineFacts

Chunk = dict[str, Any]


@attrs.frozen
class Engine:
    """Writes answers as the facts say."""

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

    def chunks(self, answer: UpstreamAnswer) -> list[Chunk]:
        """The chunks of a stream, new ones each time."""
        return [self._own(chunk) for chunk in json.loads(dump(self._inline(answer).chunks()))]

    def wire(self, answer: UpstreamAnswer, *, stream: bool) -> bytes:
        """The bytes of one of the two forms."""
        answer = self._inline(answer)
        if self.facts.rewrite is None:
            return answer.wire(stream=stream)
        if stream:
            return answer.framing.stream(map(self._own, answer.chunks()))
        return dump(self._own(answer.completion()), ascii_only=answer.framing.ascii).encode()

    def stream(self, chunks: Iterable[Any], *, done: bool | None = None) -> bytes:
        """The bytes of a stream of these chunks."""
        return Framing(done=self.facts.done if done is None else done).stream(chunks)

    def unfinished(self, answer: UpstreamAnswer) -> list[Chunk]:
        """The chunks before the one that tells the end."""
        chunks = self.chunks(answer)
        ends = [at for at, chunk in enumerate(chunks) if any(each.get("finish_reason") for each in chunk["choices"])]
        return chunks[: ends[0]] if ends else chunks

    def _inline(self, answer: UpstreamAnswer) -> UpstreamAnswer:
        """The answer with its reasoning between tags, where that is the engine's way."""
        tags = self.facts.tags
        if tags is None or not answer.reasoning:
            return answer
        return attrs.evolve(answer, reasoning=None, text=f"{tags[0]}{answer.reasoning}{tags[1]}{answer.text or ''}")

    def _own(self, chunk: Chunk) -> Chunk:
        rewrite = self.facts.rewrite
        if rewrite is None or "choices" not in chunk:
            return chunk
        choices = [
            {**choice, **{name: rewrite(choice[name]) for name in ("delta", "message") if name in choice}}
            for choice in chunk["choices"]
        ]
        return {**chunk, "choices": choices}


def piece(delta: Mapping[str, Any], finish: str | None = None, **choice: Any) -> Chunk:
    """One chunk with this delta."""
    whole = {"index": 0, "delta": dict(delta), "finish_reason": finish, **choice}
    return {"id": "chatcmpl-7", "object": "chat.completion.chunk", "model": "upstream-model", "choices": [whole]}


def _filled(fields: Mapping[str, Any], match: Any) -> dict[str, Any]:
    return {
        name: _filled(value, match) if isinstance(value, Mapping) else (match if value == MATCH else value)
        for name, value in fields.items()
    }
