"""The canonical request: what a client asked, free of any wire protocol.

Blocks and tools are shaped after the Messages API, the richer of the two protocols, so that nothing has to be squeezed;
what has no class of its own is kept whole in an `OtherBlock` or `OtherTool`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import attrs

from core.deltas import State

Task = Literal["message", "count_tokens", "models"]
Role = Literal["user", "assistant", "system"]
_MARK: Final = 2**64 - 1


@attrs.frozen
class HTTPRequest:
    """One HTTP request as it came in.

    `path` is the raw (percent-encoded) path below `mount`, the pipeline's path that it was found under; `headers` are
    (lower-case name, value) pairs; `id` is the request's own id, sent back as `request-id`; `client` is "host:port".
    """

    method: str
    path: str
    mount: str = ""
    query: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes = b""
    id: str = ""
    client: str = ""

    def below(self, mount: str) -> HTTPRequest:
        """The same request as it is seen from `mount`, with which its path begins."""
        rest = self.path[len(mount) :]
        return HTTPRequest(self.method, rest, mount, self.query, self.headers, self.body, self.id, self.client)

    def holding(self, body: bytes) -> HTTPRequest:
        """The same request with its body."""
        return HTTPRequest(self.method, self.path, self.mount, self.query, self.headers, body, self.id, self.client)

    def header(self, name: str) -> str:
        """The first header of that name, or ""."""
        wanted = name.lower().encode()
        for key, value in self.headers:
            if key == wanted:
                return value.decode("latin-1")
        return ""

    @property
    def owner(self) -> str:
        """Whose it is, where something is shared out fairly: a mark of its credential, else of the client's address.

        It is no secret, and another one in each process; "" where nothing is known of the client.
        """
        who = self.header("x-api-key") or self.header("authorization") or self.client.rpartition(":")[0]
        return f"{hash(who) & _MARK:016x}" if who else ""


@attrs.frozen
class TextBlock:
    """Plain text."""

    text: str


@attrs.frozen
class ImageBlock:
    """An image: base64 `data` of `media_type`, or a `url`, or a `file_id`; just one of the three is set."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""


@attrs.frozen
class DocumentBlock:
    """A document: base64 `data` of `media_type`, plain `text`, `content` blocks, a `url` or a `file_id`."""

    media_type: str = ""
    data: str = ""
    text: str = ""
    content: tuple[Block, ...] = ()
    url: str = ""
    file_id: str = ""
    title: str = ""
    context: str = ""


@attrs.frozen
class SearchResultBlock:
    """A search result that the client found: where from, its title, its text."""

    source: str
    title: str
    content: tuple[TextBlock, ...] = ()


@attrs.frozen
class ToolUseBlock:
    """A tool call of an earlier answer; `input` is a JSON object."""

    id: str
    name: str
    input: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class ToolResultBlock:
    """What a tool gave back for the call `tool_use_id`."""

    tool_use_id: str
    content: tuple[Block, ...] = ()
    is_error: bool = False


@attrs.frozen
class ToolReferenceBlock:
    """Names a deferred tool that became available."""

    tool_name: str


@attrs.frozen
class ThinkingBlock:
    """Reasoning of an earlier answer, as the client echoes it; `signature` is whatever came with it.

    `state` is what the engine gave to be kept, where the signature carried it.
    """

    thinking: str
    signature: str = ""
    state: State | None = None


@attrs.frozen
class RedactedThinkingBlock:
    """Reasoning that the client never saw."""

    data: str = ""


@attrs.frozen
class OtherBlock:
    """A block without a class of its own, kept as it came."""

    type: str
    raw: dict[str, Any]


Block = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolUseBlock
    | ToolResultBlock
    | ToolReferenceBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | OtherBlock
)


@attrs.frozen
class Message:
    """One turn."""

    role: Role
    content: tuple[Block, ...]


@attrs.frozen
class Tool:
    """A tool that the client runs; `input_schema` is JSON Schema with an object at its root."""

    name: str
    input_schema: dict[str, Any]
    description: str = ""
    strict: bool | None = None
    defer_loading: bool = False


@attrs.frozen
class OtherTool:
    """A tool defined by the client's provider (`type` names it), kept as it came."""

    type: str
    name: str
    raw: dict[str, Any]


@attrs.frozen
class ToolChoice:
    """Which tools the model may or must call; `name` goes with mode `tool`."""

    mode: Literal["auto", "any", "tool", "none"] = "auto"
    name: str = ""
    parallel: bool = True


@attrs.frozen
class ThinkingConfig:
    """How much the model shall reason; `budget_tokens` goes with mode `enabled`."""

    mode: Literal["enabled", "adaptive", "disabled", "between_tools"]
    budget_tokens: int = 0
    display: Literal["summarized", "omitted", "updates"] = "summarized"


@attrs.frozen
class Request:
    """What the client asked. `None` means: not given, the upstream's default applies."""

    task: Task
    model: str = ""
    messages: tuple[Message, ...] = ()
    system: tuple[TextBlock, ...] = ()
    max_tokens: int | None = None
    stream: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] = ()
    tools: tuple[Tool | OtherTool, ...] = ()
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    output_schema: dict[str, Any] | None = None
    user_id: str = ""
    owner: str = attrs.field(default="", eq=False, repr=False)
    """Whose it is, where plugins share something out fairly (`HTTPRequest.owner`); "" where nobody said."""
