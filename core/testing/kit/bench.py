"""The bench: one backend, set up for the rules; it serves answers in all modes and hands out the three hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import anyio
import attrs

from core.testing.answers import UpstreamAnswer
from core.testing.assemble import Assembly, Options, Plugin, StreamSetting
from core.testing.fold_checks import need
from core.testing.kit.engine import Engine
from core.testing.kit.facts import EngineFacts
from core.testing.replay import Replayer, Reply, replayer
from core.testing.split import Mode, cut

PATIENCE: Final = 2.0
"""Seconds after which something that must happen has not happened."""

T = TypeVar("T")

Played = tuple[str, Reply]
"""Where (the mode and the cutting, in words) and what the client got there."""


@attrs.define(eq=False)
class Bench:
    """One backend, the facts of its engine, and the options it is run with."""

    plugins: tuple[Plugin, ...]
    facts: EngineFacts
    options: Options = attrs.field(factory=dict)
    _plain: Assembly | None = attrs.field(default=None, init=False)

    @property
    def engine(self) -> Engine:
        """The engine that the facts describe."""
        return Engine(self.facts)

    def assembly(self, backend: Mapping[str, Any] | None = None, **front: Any) -> Assembly:
        """The plugins, loaded: with further keys of the backend's table, and options of the front `anthropic`."""
        if not backend and not front:
            self._plain = self._plain or Assembly(self.plugins, self.options)
            return self._plain
        options = {**self.options, "anthropic": front} if front else self.options
        return Assembly(self.plugins, options, backend)

    def serve(
        self,
        answer: UpstreamAnswer | bytes,
        *,
        request: Mapping[str, Any] | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        fails: Callable[[], Exception] | None = None,
        assembly: Assembly | None = None,
        bytewise: bool = False,
    ) -> list[Played]:
        """Serve an answer in all four modes, whole and in pieces; bytes come as they are in both upstream modes.

        Raises AssertionError where the protocol is broken, or the upstream's answer is left open.
        """
        loaded = assembly or self.assembly()

        async def play() -> list[Played]:
            found: list[Played] = []
            asked: tuple[tuple[bool, StreamSetting], ...] = ((True, "always"), (False, "never"))
            for upstream, setting in asked:
                wire = answer if isinstance(answer, bytes) else self.engine.wire(answer, stream=upstream)
                async with replayer(loaded, setting) as player:
                    for client in (True, False):
                        for how, pieces in _cuttings(wire, bytewise):
                            place = f"{Mode(client, upstream)}{how}"
                            reply = await _play(place, player, pieces, request, client, status, headers, fails)
                            found.append((place, reply))
            return found

        return self.run(play)

    def sent(self, request: Mapping[str, Any] | None = None, assembly: Assembly | None = None) -> dict[str, Any]:
        """The body that a client's request becomes, asked for and answered without a stream."""
        wire = self.engine.wire(self.engine.answer(), stream=False)

        async def play() -> Reply:
            async with replayer(assembly or self.assembly(), "auto") as player:
                return await player.play([wire], request=request)

        reply = self.run(play)
        need(reply.sent is not None, f"the request never reached the upstream: {reply.error}")
        sent: dict[str, Any] = reply.sent
        return sent

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run in an event loop of its own."""
        return anyio.run(work)


async def _play(
    place: str,
    player: Replayer,
    pieces: Sequence[bytes],
    request: Mapping[str, Any] | None,
    client: bool,
    status: int,
    headers: Mapping[str, str] | None,
    fails: Callable[[], Exception] | None,
) -> Reply:
    raised = fails() if fails else None
    try:
        with anyio.fail_after(PATIENCE):
            reply = await player.play(
                pieces, request=request, stream=client, status=status, headers=headers, fails=raised
            )
    except AssertionError as error:
        raise AssertionError(f"{place}: {error}") from error
    except TimeoutError as error:
        raise AssertionError(f"{place}: the answer did not end within {PATIENCE:g} seconds") from error
    need(reply.sent is None or reply.closed, f"{place}: the upstream's answer was left open")
    return reply


def _cuttings(wire: bytes, bytewise: bool) -> Iterator[tuple[str, list[bytes]]]:
    yield "", [wire]
    if len(wire) < 2:
        return
    ends = [at + 2 for at in range(len(wire) - 2) if wire[at : at + 2] == b"\n\n"]
    yield ", event by event" if ends else ", in two", cut(wire, ends or [len(wire) // 2])
    if bytewise:
        yield ", byte by byte", cut(wire, list(range(1, len(wire))))


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return json.loads(json.dumps(value))
