"""The demo engine: a chat-completions body in, what a small OpenAI-compatible server would answer out.

A pure function: no clock, no chance, no network. It is told nothing that it obeys but `messages`, `tools`,
`tool_choice`, `parallel_tool_calls`, `response_format` (a JSON schema), `stop`, `max_completion_tokens`, `max_tokens`,
`stream`, `stream_options.include_usage`, `reasoning_effort` ("none": no reasoning) and
`chat_template_kwargs.enable_thinking`. Every other field is ignored.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import attrs

from plugins.demo import tokens
from plugins.demo.ask import Ask, RefusedError, prompt_tokens, read
from plugins.demo.shape import Answer, chunks, completion, usage
from plugins.demo.speech import Draft, draft
from plugins.demo.tools import ToolCall


@attrs.frozen
class Reply:
    """The server's answer: status 200 with one completion or a stream of chunks, or 400 with one error object."""

    status: int
    objects: list[dict[str, Any]]
    stream: bool = False


def answer(body: object) -> Reply:
    """The answer to the body of a POST to /chat/completions. Raises nothing, whatever the body is."""
    try:
        ask = read(body)
    except RefusedError as refused:
        return Reply(400, [refused.body()])
    made = _cut(ask, draft(ask), _digest(body))
    return Reply(200, chunks(ask, made), stream=True) if ask.stream else Reply(200, [completion(ask, made)])


def count(body: object) -> Reply:
    """How many tokens the body's messages and tools have, as a completion with nothing but `usage`."""
    try:
        number = prompt_tokens(body) if isinstance(body, dict) else read(body).prompt_tokens
    except RefusedError as refused:
        return Reply(400, [refused.body()])
    return Reply(200, [{"object": "chat.completion", "choices": [], "usage": usage(number, 0, 0)}])


def _digest(body: object) -> str:
    """Names the body: ids made of it are the same for the same body and differ from turn to turn."""
    hashed = blake2b(digest_size=12)
    for text in tokens.strings(body):
        hashed.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return hashed.hexdigest()


def _cut(ask: Ask, whole: Draft, digest: str) -> Answer:
    """What is left of a draft when the limit and the stop strings are kept to."""
    left = _Budget(ask.limit)
    reasoning = left.take(whole.reasoning if ask.thinking else "")
    content = left.take(whole.content)
    end, stop = first_stop(content, ask.stops)
    if stop is not None:
        spoken = content[: end - len(stop)]
        spent = tokens.count(reasoning) + tokens.count(content[:end])
        return Answer(digest, reasoning, spoken, (), "stop", stop, spent, tokens.count(reasoning))
    calls = tuple(call for call in whole.calls if left.take_call(call))
    reason = "length" if left.short else "tool_calls" if calls else "stop"
    return Answer(digest, reasoning, content, calls, reason, None, left.spent, tokens.count(reasoning))


def first_stop(text: str, stops: tuple[str, ...]) -> tuple[int, str | None]:
    """Where the stop string that is complete first ends, and that string; (0, None) when the text has none."""
    found = [(at + len(stop), -len(stop), stop) for stop in stops if (at := text.find(stop)) >= 0]
    if not found:
        return 0, None
    end, _, stop = min(found)
    return end, stop


class _Budget:
    """Tokens that may still be spent."""

    def __init__(self, limit: int | None) -> None:
        self.limit, self.spent, self.short = limit, 0, False

    def take(self, text: str) -> str:
        """As much of the text as there are tokens for; nothing after something was cut."""
        parts = [] if self.short else tokens.split(text)
        room = len(parts) if self.limit is None else self.limit - self.spent
        self.short = self.short or len(parts) > room
        self.spent += min(len(parts), room)
        return "".join(parts[:room])

    def take_call(self, call: ToolCall) -> bool:
        """Whether there are tokens for the whole call: one that was cut could not be run."""
        if self.short:
            return False
        need = tokens.count(call.name) + tokens.count(call.arguments)
        self.short = self.limit is not None and self.spent + need > self.limit
        self.spent = self.limit if self.short and self.limit is not None else self.spent + need
        return not self.short
