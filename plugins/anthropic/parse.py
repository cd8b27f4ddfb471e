"""HTTP request -> core.request.Request, or RequestError with the path of the fault."""

from __future__ import annotations

from typing import Any, Final

import attrs
import orjson
from cattrs.errors import BaseValidationError

from core import HTTPRequest, Message, Request, RequestError, Task, TextBlock
from plugins.anthropic.body import Body, body_hook
from plugins.anthropic.endpoints import resolve
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.rules import check
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import new_converter

BILLING: Final = "x-anthropic-billing-header:"
"""How a system text begins that is no instruction but a note for the provider's books."""


def _new_body_hook() -> Hook:
    return body_hook(new_converter())


@attrs.frozen(eq=False)
class Parser:
    """Reads requests; its hooks are built once, with the plugin."""

    _body: Hook = attrs.field(init=False, repr=False, factory=_new_body_hook)

    def parse(self, http: HTTPRequest) -> Request:
        """The request. Raises RequestError: `not_found`, `method_not_allowed` or `invalid_request`."""
        endpoint = resolve(http)
        if endpoint.task == "models":
            return Request("models", model=endpoint.model)
        return self.parse_body(http.body, endpoint.task)

    def parse_body(self, data: bytes, task: Task) -> Request:
        """The request in a JSON body. Raises RequestError of kind `invalid_request`."""
        value = load(data)
        try:
            body: Body = self._body(value, None)
        except (FaultError, BaseValidationError) as error:
            raise RequestError(explain(error)) from None
        request = body.request(task)
        check(request)
        return tidy(request)


def load(data: bytes) -> dict[str, Any]:
    """The JSON object that a body holds. Raises RequestError."""
    if not data.strip():
        raise RequestError("The request body is empty: send a JSON object with model, max_tokens and messages")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"The request body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise RequestError("The request body should be a JSON object")
    return value


def tidy(request: Request) -> Request:
    """Without the text blocks that say nothing: empty ones, which agents send, and billing notes among the system's.

    Claude Code puts a billing note first whose text changes with every request: sent on, it would spoil the prefix
    cache of every upstream. The messages keep their number and order.
    """
    return attrs.evolve(
        request,
        system=tuple([block for block in request.system if _speaks(block, "system")]),
        messages=tuple([_tidy_message(message) for message in request.messages]),
    )


def _tidy_message(message: Message) -> Message:
    kept = tuple([block for block in message.content if _speaks(block, message.role)])
    return message if len(kept) == len(message.content) else Message(message.role, kept)


def _speaks(block: Any, role: str) -> bool:
    if block.__class__ is not TextBlock:
        return True
    return bool(block.text) and not (role == "system" and block.text.startswith(BILLING))
