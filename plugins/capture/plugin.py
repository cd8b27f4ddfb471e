"""The plugin itself: its options and its hooks."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import ClassVar, cast
from weakref import WeakValueDictionary

import attrs
import structlog

from core import Answer, ConfigError, HTTPRequest, Request, UpstreamCall, hookimpl
from core.chat import Call, RecordingTransport
from plugins.capture.exchange import Exchange
from plugins.capture.folder import Folder
from plugins.capture.writer import CapturedAnswer

_one_up = attrs.validators.ge(1)


@attrs.frozen(eq=False)
class Capture:
    """Writes each exchange into a file of its own: request, upstream request, upstream bytes, answer. For a pipeline.

    Keys and tokens are masked; prompts and answers are not. A backend that calls no server has no upstream bytes.
    """

    onlooker: ClassVar[bool] = True

    directory: Path = Path("captured")
    """Where the files go; made when serving starts."""
    max_bytes: int = attrs.field(default=8 * 1024 * 1024, validator=_one_up)
    """Bytes of one exchange that are kept."""
    keep: int = attrs.field(default=1000, validator=_one_up)
    """Files that are kept; the oldest go first."""
    _open: WeakValueDictionary[int, Exchange] = attrs.field(init=False, repr=False, factory=WeakValueDictionary)

    @hookimpl
    def check(self) -> None:
        """Refuse a directory that cannot be written. Raises ConfigError."""
        if why := Folder(self.directory, self.keep).refusal():
            raise ConfigError(why, hint="name another as `directory`")

    @hookimpl
    def lifespan(self) -> None:
        """Make the directory, and say in the log that exchanges are written. Raises OSError."""
        Folder(self.directory, self.keep).make()
        structlog.get_logger().warning("capture is on: prompts and answers are written", directory=str(self.directory))

    @hookimpl(wrapper=True)
    def serialize(self, http: HTTPRequest, request: Request | None) -> Generator[None, Answer, Answer]:
        """The answer, written down as it goes out."""
        answer = yield
        if cast("Answer | None", answer) is None or http.method == "HEAD":
            return answer
        exchange = Exchange(http, request, Folder(self.directory, self.keep), self.max_bytes)
        if request is not None:
            # The answer holds the exchange, and the exchange the request: the entry goes when the answer does.
            self._open[id(request)] = exchange
        return CapturedAnswer(answer, exchange)

    @hookimpl(wrapper=True)
    def call_upstream(self, request: Request) -> Generator[None, UpstreamCall, UpstreamCall]:
        """The call, through a transport that writes down what passes."""
        call = yield
        exchange = self._open.get(id(request))
        if exchange is None or not isinstance(call, Call):
            return call
        exchange.hide(call.client.secrets)
        client = call.client.through(lambda inner: RecordingTransport(inner, exchange))
        return attrs.evolve(call, client=client)
