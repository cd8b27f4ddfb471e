"""Split invariance: however the wire is cut, and whichever side streams, the client gets the same answer."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import anyio
import attrs

from core.testing.answers import UpstreamAnswer
from core.testing.assemble import Assembly, Options, Plugin, StreamSetting
from core.testing.broken import BrokenAnswer
from core.testing.fold_checks import breach, need
from core.testing.replay import Replayer, Reply, replayer

EVERY_CUT: Final = 400
"""Up to so many bytes an answer is cut at every place in turn; a longer one at so many places, evenly spread."""
BYTE_BY_BYTE: Final = 20_000
"""Up to so many bytes an answer also comes byte by byte; a longer one in at least so many pieces."""


@attrs.frozen
class Mode:
    """Which side streams."""

    client: bool
    upstream: bool

    def __str__(self) -> str:
        words = {True: "stream", False: "JSON"}
        return f"client {words[self.client]}, upstream {words[self.upstream]}"


def assert_split_invariant(
    plugins: Sequence[Plugin] | Assembly,
    answer: bytes | UpstreamAnswer | BrokenAnswer,
    *,
    request: Mapping[str, Any] | None = None,
    cuts: Iterable[Sequence[int]] | None = None,
    status: int = 200,
    options: Options | None = None,
) -> dict[Mode, Reply]:
    """Assert that the folded answer is one and the same, and return the uncut reply of each mode.

    For both client modes and both upstream modes: the answer cut anywhere equals the uncut one. Between the modes:
    content, stop_reason, stop_sequence and usage are equal; or each mode ends in an error, an HTTP error's the same in
    all. Ids that the upstream did not give are left aside; ids that it gave must arrive, but for those that stand in
    the request already. Where a stop sequence ended the answer, counts need only be there: whoever cuts a stream does
    not hear the engine's, which come at its end.

    An answer given as bytes (events or JSON) comes so in both upstream modes. `cuts` are lists of places, taken modulo
    the length; None: every single place of a short answer, some of a long one. Byte by byte is among them.
    `plugins` may be an `Assembly` of them, which saves loading them again for many answers.
    """
    __tracebackhide__ = True
    chosen = None if cuts is None else [tuple(places) for places in cuts]
    check = _Check(answer, request or {}, chosen, answer.status if isinstance(answer, BrokenAnswer) else status)
    assembly = plugins if isinstance(plugins, Assembly) else Assembly(plugins, options)
    return anyio.run(check.run, assembly)


def cuttings(length: int, cuts: Sequence[Sequence[int]] | None) -> Iterator[list[int]]:
    """The places to cut at, a list for each cutting of so many bytes."""
    if length < 2:
        return
    yield list(range(1, length, max(1, length // BYTE_BY_BYTE)))
    if cuts is None:
        yield from ([place] for place in range(1, length, max(1, length // EVERY_CUT)))
    else:
        yield from (sorted({place % length for place in places} - {0}) for places in cuts)


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The data in pieces, cut at the places (ascending)."""
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@attrs.frozen
class _Check:
    answer: bytes | UpstreamAnswer | BrokenAnswer
    request: Mapping[str, Any]
    cuts: Sequence[Sequence[int]] | None
    status: int

    async def run(self, assembly: Assembly) -> dict[Mode, Reply]:
        replies: dict[Mode, Reply] = {}
        asked: tuple[tuple[bool, StreamSetting], ...] = ((True, "always"), (False, "never"))
        for upstream, setting in asked:
            async with replayer(assembly, setting) as player:
                for client in (True, False):
                    mode = Mode(client, upstream)
                    replies[mode] = await self._one_mode(player, mode)
        self._compare_modes(replies)
        return replies

    async def _one_mode(self, player: Replayer, mode: Mode) -> Reply:
        wire = self._wire(mode.upstream)
        whole = await self._play(player, mode, [wire])
        need(whole.sent is not None, f"{mode}: the request never reached the upstream: {whole.error}")
        wanted = self._outcome(whole)
        for places in cuttings(len(wire), self.cuts):
            try:
                reply = await self._play(player, mode, cut(wire, places))
            except AssertionError as error:
                raise AssertionError(f"{mode}: cut {_where(places, len(wire))} breaks the answer: {error}") from error
            got = self._outcome(reply)
            if got != wanted:
                breach(f"{mode}: cut {_where(places, len(wire))} changes the answer\n{_diff(wanted, got)}")
        return whole

    async def _play(self, player: Replayer, mode: Mode, pieces: list[bytes]) -> Reply:
        content_type = self.answer.content_type if isinstance(self.answer, BrokenAnswer) else ""
        headers = {"content-type": content_type} if content_type else None
        return await player.play(pieces, request=self.request, stream=mode.client, status=self.status, headers=headers)

    def _wire(self, stream: bool) -> bytes:
        return self.answer if isinstance(self.answer, bytes) else self.answer.wire(stream=stream)

    def _outcome(self, reply: Reply) -> dict[str, Any]:
        """What must not depend on the cutting: all but the ids that were made here."""
        message = {name: value for name, value in reply.message.items() if name != "id"}
        content = [self._without_made_id(block) for block in message.get("content", ())]
        return {"status": reply.status, "message": {**message, "content": content}, "error": reply.error}

    def _without_made_id(self, block: dict[str, Any]) -> dict[str, Any]:
        if block["type"] != "tool_use" or self._is_given(block["id"]):
            return block
        return {**block, "id": "(made here)"}

    def _is_given(self, identity: str) -> bool:
        return any(json.dumps(identity).encode() in self._wire(stream) for stream in (True, False))

    def _compare_modes(self, replies: Mapping[Mode, Reply]) -> None:
        (first, reply), *others = replies.items()
        wanted = self._outcome(reply)
        for mode, other in others:
            got = self._outcome(other)
            need(
                (got["error"] is None) == (wanted["error"] is None),
                f"only one of two modes ends in an error ({first} / {mode})\n{_diff(wanted, got)}",
            )
            if wanted["error"] is None:
                same = _counts_aside(got["message"]) == _counts_aside(wanted["message"])
                need(same, f"two modes give different answers ({first} / {mode})\n{_diff(wanted, got)}")
            elif self.status >= 400 or mode.upstream == first.upstream:
                same = got["error"] == wanted["error"]
                need(same, f"two modes give different errors ({first} / {mode})\n{_diff(wanted, got)}")
        for mode, each in replies.items():
            self._check_ids(mode, each)

    def _check_ids(self, mode: Mode, reply: Reply) -> None:
        if isinstance(self.answer, UpstreamAnswer) and reply.error is None:
            taken = json.dumps(self.request.get("messages", ()))
            calls = self.answer.tool_calls
            given = {call.id for call in calls if call.id and json.dumps(call.id) not in taken}
            seen = {block.get("id") for block in reply.message["content"]}
            need(given <= seen, f"{mode}: the upstream's tool ids {sorted(given - seen)} did not arrive")


def _counts_aside(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if message["stop_reason"] != "stop_sequence":
        return message
    return {**message, "usage": {name: count > 0 for name, count in message["usage"].items()}}


def _where(places: Sequence[int], length: int) -> str:
    return "byte by byte" if len(places) == length - 1 else f"at {', '.join(map(str, places))} of {length} bytes"


def _diff(wanted: Any, got: Any) -> str:
    one, two = (json.dumps(value, indent=1, ensure_ascii=False).splitlines() for value in (wanted, got))
    return "\n".join(difflib.unified_diff(one, two, "before", "after", lineterm=""))
