"""What hooks return, with a look at each call: they do what the wrapped object does, and tell what it took and gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from core.deltas import Delta
from core.errors import GatewayError
from core.hookspecs import Answer, Chunk, ContentTranslator, StopTranslator
from core.raised import in_words
from core.trace.words import Step, Tell, deltas_in_words, in_repr, json_in_words, passed


@attrs.define(eq=False, kw_only=True)
class Around:
    """An object of a plugin's, under the name of the plugin. What is not traced is the object's own."""

    inner: Any
    hook: str
    who: str
    tell: Tell
    inside: Around | None = None
    """The next one inwards, for a wrapper's."""
    last: Any = None
    """What was given last."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def say(self, method: str, what: str) -> None:
        """Tell one step."""
        stage = self.hook if method == "feed" else f"{self.hook}.{method}"
        self.tell(Step(stage, self.who, what))

    def call(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives; what it raises is told."""
        try:
            return function(*arguments)
        except BaseException as error:
            self.say(method, f"!! raised {in_words(error)}")
            raise


@attrs.define(eq=False, kw_only=True)
class TracedContent(Around):
    """A content translator; the innermost one tells the chunks, too, the others what they made of its deltas."""

    methods: ClassVar = ("feed", "flush")
    inner: ContentTranslator

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas of the wrapped translator."""
        if self.inside is None:
            self.tell(Step("chunk", "", json_in_words(chunk)))
        return self._told("feed", self.call("feed", self.inner.feed, chunk))

    def flush(self) -> Sequence[Delta]:
        """The last of them."""
        return self._told("flush", self.call("flush", self.inner.flush))

    def _told(self, method: str, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.last = deltas
        words = deltas_in_words(deltas) if self.inside is None else passed(self.inside.last or (), deltas)
        self.say(method, words)
        return deltas


@attrs.define(eq=False, kw_only=True)
class TracedStop(Around):
    """A stop translator; what it was given stands before what it made of it."""

    methods: ClassVar = ("feed", "flush")
    inner: StopTranslator

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas of the wrapped translator."""
        out: Sequence[Delta] = self.call("feed", self.inner.feed, chunk, deltas)
        self.say("feed", passed(deltas, out))
        return out

    def flush(self) -> Sequence[Delta]:
        """The last of them."""
        out: Sequence[Delta] = self.call("flush", self.inner.flush)
        self.say("flush", deltas_in_words(out))
        return out


@attrs.define(eq=False, kw_only=True)
class TracedAnswer(Around):
    """A writer; it tells the bytes."""

    methods: ClassVar = ("feed", "finish", "fail", "ping")
    inner: Answer

    @property
    def status(self) -> int:
        """The wrapped writer's."""
        return self.inner.status

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The wrapped writer's."""
        return self.inner.headers

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Bytes of the wrapped writer."""
        data: bytes = self._told("feed", self.call("feed", self.inner.feed, deltas))
        return data

    def ping(self) -> bytes:
        """Its sign of life."""
        data: bytes = self._told("ping", self.call("ping", self.inner.ping))
        return data

    def finish(self) -> bytes:
        """Its end."""
        data: bytes = self._told("finish", self.call("finish", self.inner.finish))
        return data

    def fail(self, error: GatewayError) -> bytes:
        """Its error."""
        data: bytes = self._told("fail", self.call("fail", self.inner.fail, error))
        return data

    def _told(self, method: str, data: Any) -> Any:
        self.last = data
        if not isinstance(data, bytes):
            self.say(method, f"!! {type(data).__name__}: {in_repr(data)}")
        elif data and self.inside is not None and self.inside.last == data:
            self.say(method, f"{len(data)} bytes (as given)")
        else:
            self.say(method, repr(data.decode("utf-8", "backslashreplace")) if data else "nothing yet")
        return data


@attrs.frozen
class Wire:
    """Hears what passes on the network to the upstream, as a `core.chat.Recorder`."""

    tell: Tell

    def sent(self, body: bytes) -> None:
        """A request goes out."""
        self.tell(Step("sent", "", body.decode("utf-8", "backslashreplace")))

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer."""
        self.tell(Step("answered", "", f"{status} {headers.get('content-type', '')}".rstrip()))

    def read(self, data: bytes) -> None:
        """One network read."""
        self.tell(Step("read", "", f"{len(data)} bytes: {data.decode('utf-8', 'backslashreplace')!r}"))

    def ended(self, how: str) -> None:
        """How it ended."""
        words = {"": "the upstream ended its answer", "closed": "closed by the gateway"}
        self.tell(Step("ended", "", words.get(how, how)))
