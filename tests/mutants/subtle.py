"""Faults that the kit did not see before rules were added for their kind: the survivors of its second measurement."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import structlog

from core import Chunk, ContentTranslator, Delta, Request, Route, Text, Thinking, ToolUse, UpstreamCall, Usage
from core.chat import Call, ChunkReader, Content, UpstreamClient
from tests.mutants.reference import DIALECT, Correct, ReadingCall, Steps

Change = Callable[[Delta], Sequence[Delta]]


class _Changing(Correct):
    """A backend each of whose deltas is replaced by what `change` makes of it."""

    def content(self, request: Request) -> ContentTranslator:
        return _Each(self)

    def changer(self) -> Change:
        """What changes the deltas of one answer."""
        return self.change

    def change(self, delta: Delta) -> Sequence[Delta]:
        return [delta]


class _Each(Steps):
    def __init__(self, plugin: _Changing) -> None:
        super().__init__(plugin.reasoning())
        self.change = plugin.changer()

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return [new for delta in deltas for new in self.change(delta)]


class ReasoningCutShort(_Changing):
    """Reasoning ends after two hundred characters, to save tokens."""

    def changer(self) -> Change:
        said: list[str] = []

        def change(delta: Delta) -> Sequence[Delta]:
            if isinstance(delta, Thinking):
                said.append(delta.text)
            return [] if isinstance(delta, Thinking) and len("".join(said)) > 200 else [delta]

        return change


class ReasoningBetweenCallsLost(_Changing):
    """Reasoning behind a tool call is lost."""

    def changer(self) -> Change:
        calls: list[ToolUse] = []

        def change(delta: Delta) -> Sequence[Delta]:
            if isinstance(delta, ToolUse):
                calls.append(delta)
            return [] if calls and isinstance(delta, Thinking) else [delta]

        return change


class TextUnindented(_Changing):
    """Blanks in front of the answer are lost, and with them the indentation of code."""

    def changer(self) -> Change:
        begun: list[str] = []

        def change(delta: Delta) -> Sequence[Delta]:
            if begun or not isinstance(delta, Text):
                return [delta]
            begun.extend(delta.text.split())
            return [Text(delta.text.lstrip())] if begun else []

        return change


class TextUnescaped(_Changing):
    """Entities in the text, as `&lt;`, become the characters they stand for."""

    def change(self, delta: Delta) -> Sequence[Delta]:
        return [Text(html.unescape(delta.text))] if isinstance(delta, Text) else [delta]


class TextNormalised(_Changing):
    """Characters of the text are replaced by their normal form, so that names of files change."""

    def change(self, delta: Delta) -> Sequence[Delta]:
        return [Text(unicodedata.normalize("NFKC", delta.text))] if isinstance(delta, Text) else [delta]


class ZerosDropped(_Changing):
    """A piece of text that is a zero counts as nothing."""

    def change(self, delta: Delta) -> Sequence[Delta]:
        return [] if isinstance(delta, Text) and delta.text == "0" else [delta]


class NamesLowered(_Changing):
    """The names of tools are given in small letters."""

    def change(self, delta: Delta) -> Sequence[Delta]:
        return [attrs.evolve(delta, name=delta.name.lower())] if isinstance(delta, ToolUse) else [delta]


class _LessReasoning(Steps):
    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        details = (chunk.get("usage") or {}).get("completion_tokens_details") or {}
        less = details.get("reasoning_tokens") or 0
        return [
            attrs.evolve(delta, output_tokens=delta.output_tokens - less) if isinstance(delta, Usage) else delta
            for delta in super().feed(chunk)
        ]


class ReasoningTokensTakenOff(Correct):
    """The tokens of the reasoning, which are a part of the completion's, are taken off them."""

    def content(self, request: Request) -> ContentTranslator:
        return _LessReasoning(self.reasoning())


class CallStateLost(Correct):
    """What the engine wants back with a call is not kept."""

    def content(self, request: Request) -> ContentTranslator:
        return Content(self.reasoning())


class _Sends(Correct):
    """A backend that sends the body as `change` makes it."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Changed(request, route, client, DIALECT, plugin=self)

    def change(self, body: dict[str, Any], client: UpstreamClient) -> dict[str, Any]:
        return body


@attrs.frozen(eq=False)
class _Changed(Call):
    plugin: _Sends = attrs.field(kw_only=True)

    def body(self) -> dict[str, Any]:
        return self.plugin.change(super().body(), self.client)


class ToolsNotStreamed(_Sends):
    """Tools are not sent when the client streams."""

    def change(self, body: dict[str, Any], client: UpstreamClient) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name != "tools" or not body.get("stream")}


class KeyInBody(_Sends):
    """The backend's key is sent in the body, too."""

    def change(self, body: dict[str, Any], client: UpstreamClient) -> dict[str, Any]:
        key = client.backend.key
        return {**body, "api_key": key.reveal()} if key else body


class KeyInLog(_Sends):
    """The backend's key is logged with each request."""

    def change(self, body: dict[str, Any], client: UpstreamClient) -> dict[str, Any]:
        key = client.backend.key
        structlog.get_logger().info("asking", key=key.reveal() if key else "")
        return body


class StopsUnlimited(Correct):
    """More stop sequences are sent than the engine takes, which refuses them."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, attrs.evolve(DIALECT, max_stops=None))


class _Marked(ChunkReader):
    begun = False

    def feed(self, data: bytes) -> list[Chunk]:
        # A reader that knows of no mark takes it for the beginning of the first line, which then is none of data.
        self.begun, first = True, not self.begun
        return super().feed(b":" + data if first and data.startswith(b"\xef") else data)


class ByteOrderMarkBreaks(Correct):
    """With a byte order mark in front the first event is lost."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return ReadingCall(request, route, client, DIALECT, reader=_Marked)


@attrs.frozen(eq=False)
class SecretIsPlain(Correct):
    """The option `token` is plain text, which is shown wherever the plugin is."""

    token: str = ""


@attrs.frozen(eq=False)
class OptionUntyped(Correct):
    """The option `tries` has the type Any: nonsense is taken without a word."""

    tries: Any = 1


class CancelledStaysOpen(Correct):
    """Closing is not shielded: where the request is cancelled, the connection stays open."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Unshielded(request, route, client, DIALECT)


@attrs.frozen(eq=False)
class _Unshielded(ReadingCall):
    kept: list[Any] = attrs.field(factory=list, kw_only=True)

    def _owned(self, chunks: Any) -> Any:
        self.kept.append(chunks)
        return chunks

    async def __aexit__(self, *raised: object) -> None:
        for chunks in self.kept:
            await chunks.aclose()
