"""All that can be seen of a backend while scenes are played: by the client, the upstream, and between the hooks."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
import attrs
from structlog.testing import capture_logs

from core import ConfigError, HTTPRequest
from core.gateway import Gateway
from core.testing import Assembly, fold, fold_json
from tests.mutants.scenes import Scene, Upstream
from tests.mutants.watcher import Watcher, given_id

SHOWN = ("content-type", "retry-after", "x-should-retry")


@attrs.frozen
class Seen:
    """What was seen of one scene.

    `refused` is the start's refusal; `ended` "ended", "left" or "hung"; `message` the folded answer or the rule that it
    breaks; `fault` a plugin's exception; `deltas` what left the hooks, after how many reads; `entering` how the call
    was entered; `sent`, `closed` and `reads` what the upstream saw.
    """

    refused: str = ""
    ended: str = ""
    status: int = 0
    headers: Mapping[str, str] = attrs.field(factory=dict)
    message: Any = None
    error: Any = None
    fault: str = ""
    deltas: Sequence[Any] = ()
    entering: Sequence[str] = ()
    sent: Sequence[Any] = ()
    closed: Sequence[bool] = ()
    reads: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it that a stranger would see."""
        keeps_the_protocol = not isinstance(self.message, str)
        return keeps_the_protocol and all(self.closed) and not (self.refused or self.fault or self.ended == "hung")


class StuckError(BaseException):
    """The limit of a scene passed while the plugin held the event loop."""


def observe(plugin: type, scenes: Sequence[Scene]) -> list[Seen]:
    """Play the scenes one after another on one gateway with this backend."""
    try:
        with _limit(scenes[0].limit):
            return anyio.run(_play_all, plugin, scenes)
    except (StuckError, BaseExceptionGroup) as error:
        if isinstance(error, BaseExceptionGroup) and not error.subgroup(StuckError):
            raise
        return [Seen(ended="hung")]


def differences(one: Sequence[Seen], other: Sequence[Seen]) -> set[str]:
    """The names of what is not the same."""
    pairs = zip(one, other, strict=False)
    names = [field.name for field in attrs.fields(Seen)]
    return {name for a, b in pairs for name in names if getattr(a, name) != getattr(b, name)}


async def _play_all(plugin: type, scenes: Sequence[Scene]) -> list[Seen]:
    first = scenes[0]
    upstream = Upstream(first)
    watcher = Watcher(upstream)
    try:
        assembly = Assembly([plugin, watcher], {plugin.__name__: first.options} if first.options else None)
    except ConfigError as error:
        return [Seen(refused=str(error))]
    assembly._backend = attrs.evolve(assembly._backend, **first.backend)
    gateway = assembly.gateway(upstream, first.upstream_stream)
    async with gateway.running():
        return [await _play(gateway, upstream, watcher, scene) for scene in scenes]


async def _play(gateway: Gateway, upstream: Upstream, watcher: Watcher, scene: Scene) -> Seen:
    upstream.begin(scene)
    watcher.begin()
    sink = _Sink()
    http = HTTPRequest("POST", scene.path, body=scene.body, id="req_1")
    with capture_logs() as log:
        ended = await _serve(gateway, http, sink, upstream)
    faults = [type(entry["exc_info"]).__name__ for entry in log if entry["event"] == "fault"]
    message, error = sink.folded() if ended == "ended" else (None, None)
    return Seen(
        ended=ended,
        status=sink.status,
        headers=sink.headers,
        message=message,
        error=error,
        fault=", ".join(faults),
        deltas=tuple(watcher.deltas),
        entering=tuple(watcher.entering),
        sent=tuple(upstream.sent),
        closed=tuple(upstream.closed),
        reads=upstream.reads,
    )


async def _serve(gateway: Gateway, http: HTTPRequest, sink: _Sink, upstream: Upstream) -> str:
    """Serve the request; how it ended. Whatever it waits for is let go before this returns."""
    scene, over, scope = upstream.scene, anyio.Event(), anyio.CancelScope()

    async def handle() -> None:
        with scope:
            await gateway.handle(http, sink)
        over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(handle)
        with anyio.move_on_after(scene.limit / 2) as limit:
            if scene.leaves:
                await upstream.drained.wait()
                scope.cancel()
            await over.wait()
        upstream.release.set()
        scope.cancel()
    return "hung" if limit.cancelled_caught else "left" if scene.leaves else "ended"


class _Sink:
    """What the client gets."""

    gone = True

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        given = {name.decode(): value.decode() for name, value in headers}
        self.status, self.headers = status, {name: given[name] for name in SHOWN if name in given}

    async def send(self, data: bytes, more: bool) -> None:
        self.body += data

    def folded(self) -> tuple[Any, Any]:
        """Message (or the rule it breaks) and error, without what is made anew each time."""
        streams = self.headers.get("content-type", "").startswith("text/event-stream")
        if b'"input_tokens"' in self.body and b'"type"' not in self.body:
            return {"count": self.body}, None
        try:
            folded = fold(self.body) if streams else fold_json(self.body)
        except AssertionError as error:
            return str(error), None
        content = [_plain(block, number) for number, block in enumerate(folded.message.get("content", ()))]
        return {**folded.message, "id": "", "content": content}, folded.error


def _plain(block: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A block without its signature; a call's made id as its place."""
    plain = {name: value for name, value in block.items() if name != "signature"}
    return {**plain, "id": given_id(block["id"], number)} if "id" in block else plain


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise StuckError after so many seconds, also in the midst of a call that never returns."""

    passed = False

    def stuck(number: int, frame: FrameType | None) -> None:
        nonlocal passed
        passed = True
        raise StuckError

    before = signal.signal(signal.SIGALRM, stuck)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        # A gateway takes whatever comes out of a plugin for the plugin's fault, and goes on.
        if passed:
            raise StuckError
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
