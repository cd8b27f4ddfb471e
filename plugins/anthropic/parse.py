"""HTTP request -> core.request.Request, or RequestError with the path of the fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import attrs
import orjson
import structlog
from cattrs.errors import BaseValidationError

from core import Block, HTTPRequest, Message, OtherTool, Request, RequestError, Task, TextBlock
from plugins.anthropic.body import Body, body_hook
from plugins.anthropic.endpoints import resolve
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.foreign import readable
from plugins.anthropic.known import Known
from plugins.anthropic.refusals import LOOKED_AT, refuse_unservable
from plugins.anthropic.rules import check
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import new_converter
from plugins.anthropic.surrogates import mended
from plugins.anthropic.tools import tool_hook
from plugins.anthropic.turns import settle

BOM: Final = b"\xef\xbb\xbf"

_B = TypeVar("_B", bound=Block)

BILLING: Final = "x-anthropic-billing-header:"
"""How a line at the head of a system text begins that is no instruction but a note for the provider's books."""

SEARCH: Final = "tool_search_tool"
"""How the types of the tools begin that search among the deferred ones on the provider's server."""


def _new_body_hook() -> Hook:
    return body_hook(new_converter())


def _new_tool_hook() -> Hook:
    return tool_hook(new_converter())


@attrs.frozen(eq=False)
class Parser:
    """Reads requests; its hooks are built once, with the plugin.

    With `drop_server_tools`, tools that only their provider's own server can run are left out (each type is told once
    in the log); else they stay for the backend, which refuses them by name. Where a search for tools is left out,
    nothing could make the deferred ones available any more: they are offered from the start. `remember` is how many
    bytes of messages and tools are kept as they were read, for the requests that send them again.
    """

    drop_server_tools: bool = False
    remember: int = 0
    _body: Hook = attrs.field(init=False, repr=False, factory=_new_body_hook)
    _tool: Hook = attrs.field(init=False, repr=False, factory=_new_tool_hook)
    _known: Known = attrs.field(init=False, repr=False)
    _told: set[str] = attrs.field(init=False, repr=False, factory=set)

    @_known.default
    def _nothing_known(self) -> Known:
        return Known(self.remember, [*(field.name for field in attrs.fields(Body)), *LOOKED_AT])

    def parse(self, http: HTTPRequest) -> Request:
        """The request. Raises RequestError: `not_found`, `method_not_allowed` or `invalid_request`."""
        endpoint = resolve(http)
        if endpoint.task == "models":
            return Request("models", model=endpoint.model)
        return self.parse_body(http.body, endpoint.task, http.owner)

    def parse_body(self, data: bytes, task: Task, owner: str = "") -> Request:
        """The request in a JSON body, and whose it is. Raises RequestError of kind `invalid_request`."""
        split = self._known.split(data)
        value = split.value if split else load(data)
        refuse_unservable(value, task)
        try:
            body: Body = self._body(value, None)
        except (FaultError, BaseValidationError) as error:
            raise RequestError(explain(error)) from None
        if split:
            self._known.keep(split, messages=body.messages, tools=body.tools)
        request = settle(body.request(task, owner), self._tool)
        if self.drop_server_tools:
            request = self._without_server_tools(request)
        check(request)
        return tidy(request)

    def _without_server_tools(self, request: Request) -> Request:
        dropped = {tool.type for tool in request.tools if isinstance(tool, OtherTool)}
        for kind in sorted(dropped - self._told):
            structlog.get_logger().info("server_tool_dropped", type=kind)
        self._told.update(dropped)
        kept = [tool for tool in request.tools if not isinstance(tool, OtherTool)]
        if any(kind.startswith(SEARCH) for kind in dropped):
            kept = [attrs.evolve(tool, defer_loading=False) for tool in kept]
        return attrs.evolve(request, tools=tuple(kept))


def load(data: bytes) -> dict[str, Any]:
    """The JSON object that a body holds. Raises RequestError."""
    data = data.removeprefix(BOM)
    if not data or data.isspace():
        raise RequestError("The request body is empty: send a JSON object with model, max_tokens and messages")
    value = _loads(data)
    if not isinstance(value, dict):
        raise RequestError("The request body should be a JSON object")
    return value


def _loads(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        whole, fault = mended(data), error
    try:
        return orjson.loads(whole)
    except orjson.JSONDecodeError:
        raise RequestError(f"The request body is not valid JSON: {fault}") from None


def tidy(request: Request) -> Request:
    """Without what no model can read: other providers' blocks, empty text, which agents send, and billing notes.

    Claude Code puts a billing note first whose text changes with every request: sent on, it would spoil the prefix
    cache of every upstream. The messages keep their number and order.
    """
    messages = readable(request.messages)
    if _untidy(messages):
        messages = tuple([_tidy_message(message) for message in messages])
    if messages is request.messages and not request.system:
        return request
    return attrs.evolve(request, system=_tidy(request.system, "system"), messages=messages)


def _untidy(messages: Sequence[Message]) -> bool:
    """Whether there is anything to leave out: mostly there is not."""
    texts = [block.text for message in messages for block in message.content if block.__class__ is TextBlock]
    return not all(texts) or "system" in {message.role for message in messages}


def _tidy_message(message: Message) -> Message:
    kept = _tidy(message.content, message.role)
    return message if kept == message.content else Message(message.role, kept)


def _tidy(blocks: tuple[_B, ...], role: str) -> tuple[_B, ...]:
    if role == "system":
        blocks = tuple([_without_note(block) for block in blocks])
    return tuple([block for block in blocks if block.__class__ is not TextBlock or block.text])


def _without_note(block: _B) -> _B:
    """The block without a billing note, which is one line; what follows in the same text is the client's."""
    if not (isinstance(block, TextBlock) and block.text.startswith(BILLING)):
        return block
    return attrs.evolve(block, text=block.text.partition("\n")[2])
