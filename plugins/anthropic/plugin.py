"""The plugin itself: its options and its hooks."""

from __future__ import annotations

import os
from typing import Any

import attrs

from core import Answer, ConfigError, HTTPRequest, Request, Secret, hookimpl
from plugins.anthropic.count import CountAnswer
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.history import unsealed
from plugins.anthropic.message import MessageAnswer
from plugins.anthropic.models import ModelsAnswer
from plugins.anthropic.parse import Parser
from plugins.anthropic.prompt_only import PromptOnly
from plugins.anthropic.seal import Seal
from plugins.anthropic.seal_key import find_key, key_of, machine_secret
from plugins.anthropic.stream import StreamAnswer


def _not_empty(_plugin: object, _field: Any, value: Secret | None) -> None:
    if value is not None and not value.reveal().strip():
        raise ConfigError("is empty", key="seal_key", hint="take the key away, or give it a long random string")


@attrs.define(eq=False)
class Anthropic:
    """Speaks the Messages API: `POST /messages`, `POST /messages/count_tokens`, `GET /models` and `GET /models/{id}`.

    With `cache_usage` each answer's usage also tells how much of the prompt came from the upstream's prefix cache
    (`cache_read_input_tokens`) and went into it (`cache_creation_input_tokens`); `input_tokens` is then the rest.
    With `drop_server_tools`, tools that only their provider can run are left out of requests instead of refused.
    `remember` bytes of messages and tools are kept per worker as they were read: agents send them again and again.
    `seal_key` seals what clients keep for engines in thinking blocks' signatures; all workers and machines behind one
    address need the same. Without it the key is a file of the user's, read or made when serving starts.
    """

    cache_usage: bool = attrs.field(default=False, metadata={"help": "also report cached prompt tokens in usage"})
    drop_server_tools: bool = attrs.field(default=False, metadata={"help": "leave out tools that nothing here can run"})
    remember: int = attrs.field(
        default=16 * 1024 * 1024,
        validator=attrs.validators.ge(0),
        metadata={"help": "bytes of messages and tools that are kept as they were read; 0: none"},
    )
    seal_key: Secret | None = attrs.field(
        default=None, validator=_not_empty, metadata={"help": "the secret behind the signatures of thinking blocks"}
    )
    _parser: Parser = attrs.field(init=False, repr=False)
    _seal: Seal = attrs.field(init=False, repr=False)

    @_parser.default
    def _new_parser(self) -> Parser:
        return Parser(self.drop_server_tools, self.remember)

    @_seal.default
    def _first_seal(self) -> Seal:
        return Seal(key_of(self.seal_key.reveal() if self.seal_key else machine_secret()))

    @hookimpl
    def lifespan(self) -> None:
        """Get the key of the seal. Not earlier: a configuration that is only checked shall leave no file."""
        if self.seal_key is None:
            self._seal = Seal(find_key(os.environ))

    @hookimpl
    def parse(self, http: HTTPRequest) -> Request:
        """Read the request; raises RequestError with the path of the fault."""
        return unsealed(self._parser.parse(http), self._seal)

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
        answer: Answer = made(http, request, seal=self._seal, cache_usage=self.cache_usage)
        return PromptOnly(answer) if request.max_tokens == 0 else answer
