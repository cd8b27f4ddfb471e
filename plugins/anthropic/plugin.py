"""The plugin itself: its option and its two hooks."""

from __future__ import annotations

import attrs

from core import Answer, HTTPRequest, Request, hookimpl
from plugins.anthropic.count import CountAnswer
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.message import MessageAnswer
from plugins.anthropic.models import ModelsAnswer
from plugins.anthropic.parse import Parser
from plugins.anthropic.prompt_only import PromptOnly
from plugins.anthropic.stream import StreamAnswer


@attrs.frozen(eq=False)
class Anthropic:
    """Speaks the Messages API: `POST /messages`, `POST /messages/count_tokens`, `GET /models` and `GET /models/{id}`.

    With `cache_usage` each answer's usage also tells how much of the prompt came from the upstream's prefix cache
    (`cache_read_input_tokens`) and went into it (`cache_creation_input_tokens`); `input_tokens` is then the rest.
    """

    cache_usage: bool = attrs.field(default=False, metadata={"help": "also report cached prompt tokens in usage"})
    _parser: Parser = attrs.field(init=False, repr=False, factory=Parser)

    @hookimpl
    def parse(self, http: HTTPRequest) -> Request:
        """Read the request; raises RequestError with the path of the fault."""
        return self._parser.parse(http)

    @hookimpl
    def serialize(self, http: HTTPRequest, request: Request | None) -> Answer:
        """The writer of the one answer; without a request it can only `fail`."""
        if request is None:
            return JSONAnswer(http)
        if request.task == "models":
            return ModelsAnswer(http, request)
        if request.task == "count_tokens":
            return CountAnswer(http)
        made = StreamAnswer if request.stream else MessageAnswer
        answer: Answer = made(http, request, cache_usage=self.cache_usage)
        return PromptOnly(answer) if request.max_tokens == 0 else answer
