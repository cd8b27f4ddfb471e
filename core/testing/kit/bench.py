"""The bench: one backend, set up for the rules; it serves answers in all modes and hands out the three hooks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import attrs

from core.gateway import Gateway
from core.testing.answers import UpstreamAnswer
from core.testing.assemble import Assembly, Options, Plugin, StreamSetting
from core.testing.fold_checks import need
from core.testing.kit.engine import Engine
from core.testing.kit.facts import EngineFacts
from core.testing.kit.patience import Patience
from core.testing.kit.upstream import Client, Upstream
from core.testing.replay import Network, Replayer, Reply
from core.testing.split import Mode, cut

T = TypeVar("T")

Played = tuple[str, Reply]
"""Where (the mode and the cutting, in words) and what the client got there."""


@attrs.define(eq=False)
class Bench:
    """One backend, the facts of its engine, and the options it is run with."""

    plugins: tuple[Plugin, ...]
    facts: EngineFacts
    options: Options = attrs.field(factory=dict)
    patience: Patience = attrs.field(factory=Patience)
    _made: dict[str, Assembly] = attrs.field(factory=dict, init=False)
    _gateways: dict[tuple[int, StreamSetting], tuple[Gateway, Network]] = attrs.field(factory=dict, init=False)

    @property
    def engine(self) -> Engine:
        """The engine that the facts describe."""
        return Engine(self.facts)

    def assembly(self, backend: Mapping[str, Any] | None = None, **front: Any) -> Assembly:
        """The plugins, loaded: with further keys of the backend's table, and options of the front `anthropic`."""
        key = repr((backend, front))
        if key not in self._made:
            options = {**self.options, "anthropic": front} if front else self.options
            self._made[key] = Assembly(self.plugins, options, backend)
        return self._made[key]

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
        given = {"request": request, "status": status, "headers": headers}

        async def play() -> list[Played]:
            found: list[Played] = []
            for upstream in (True, False):
                for way, wire in self._wires(answer, stream=upstream):
                    async with self._player(loaded, "always" if upstream else "never") as player:
                        for client, how, pieces in _ways(wire, bytewise):
                            place = f"{Mode(client, upstream)}{way}{how}"
                            reply = await self._play(place, player, pieces, fails, {**given, "stream": client})
                            found.append((place, reply))
            return found

        return self.run(play)

    def refuse(
        self,
        error: Mapping[str, Any],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        assembly: Assembly | None = None,
    ) -> list[Played]:
        """Serve what is nothing but this error (`message`, perhaps `type`, `code`), in the engine's form."""
        body, own = self.engine.failed(error, status, headers)
        return self.serve(body, status=status, headers=own, assembly=assembly)

    def upstream(
        self,
        reply: Callable[[Any], Sequence[bytes | anyio.Event]],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Upstream:
        """An upstream of this engine: the bodies that it was asked are in the usual form."""
        return Upstream(reply, status, headers or {}, read=self.engine.usual)

    def wire(self, *, stream: bool) -> bytes:
        """The bytes of a plain answer."""
        return self.engine.wire(self.engine.answer(), stream=stream)

    def sent(self, request: Mapping[str, Any] | None = None, assembly: Assembly | None = None) -> dict[str, Any]:
        """The body that a client's request becomes, asked for and answered without a stream."""
        wire = self.wire(stream=False)

        async def play() -> Reply:
            async with self._player(assembly or self.assembly(), "auto") as player:
                return await player.play([wire], request=request)

        reply = self.run(play)
        need(reply.sent is not None, f"the request never reached the upstream: {reply.error}")
        sent: dict[str, Any] = self.engine.usual(reply.sent)
        return sent

    def ask(self, upstream: Upstream, backend: Mapping[str, Any] | None = None, **fields: Any) -> Client:
        """One client's request to a gateway in front of this upstream, with further keys of the backend's table."""

        async def run() -> Client:
            gateway = self.assembly(backend).gateway(upstream)
            client = Client(gateway)
            async with gateway.running():
                await client.ask(**fields)
            return client

        return self.run(run)

    @asynccontextmanager
    async def _player(self, assembly: Assembly, setting: StreamSetting) -> AsyncIterator[Replayer]:
        """A gateway for replays; one and the same each time, for making one takes longer than an answer."""
        key = (id(assembly), setting)
        if key not in self._gateways:
            network = Network()
            self._gateways[key] = (assembly.gateway(network, setting), network)
        gateway, network = self._gateways[key]
        async with gateway.running():
            yield Replayer(gateway, network)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run in an event loop of its own."""
        return anyio.run(self.patience.watched, work)

    def _wires(self, answer: UpstreamAnswer | bytes, *, stream: bool) -> list[tuple[str, bytes]]:
        if isinstance(answer, bytes):
            return [("", answer)]
        return [(way, self.engine.wire(each, stream=stream)) for way, each in self.engine.ways(answer)]

    async def _play(
        self,
        place: str,
        player: Replayer,
        pieces: Sequence[bytes],
        fails: Callable[[], Exception] | None,
        asked: Mapping[str, Any],
    ) -> Reply:
        try:
            with self.patience.within("the answer did not end"):
                reply = await player.play(pieces, fails=fails() if fails else None, **asked)
        except AssertionError as error:
            raise AssertionError(f"{place}: {error}") from error
        need(reply.sent is None or reply.closed, f"{place}: the upstream's answer was left open")
        return reply if reply.sent is None else attrs.evolve(reply, sent=self.engine.usual(reply.sent))


def _ways(wire: bytes, bytewise: bool) -> Iterator[tuple[bool, str, list[bytes]]]:
    """Whether the client streams, how the wire is cut in words, and its pieces."""
    ends = [at + 2 for at in range(len(wire) - 2) if wire[at : at + 2] == b"\n\n"]
    places = ends or ([len(wire) // 2] if len(wire) > 1 else [])
    pieces = cut(wire, places)
    if ends:
        yield True, "", [wire]
        yield True, ", event by event", pieces
        yield False, ", event by event", pieces
    else:
        yield True, ", in two", pieces
        yield False, "", [wire]
    if bytewise:
        single = cut(wire, list(range(1, len(wire))))
        yield True, ", byte by byte", single
        yield False, ", byte by byte", single
