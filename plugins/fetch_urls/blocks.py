"""Where a request names files by URL, and the request with data in their place; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from core import (
    Block,
    DocumentBlock,
    GatewayError,
    ImageBlock,
    Message,
    Request,
    RequestError,
    TextBlock,
    ToolResultBlock,
)
from plugins.fetch_urls.errors import BusyError, FetchError
from plugins.fetch_urls.kept import Outcome
from plugins.fetch_urls.kinds import Wanted

Outcomes = Mapping[Wanted, Outcome]


def wanted_of(request: Request, *, images: bool) -> list[Wanted]:
    """The files that the request names by URL, the last first and each once; documents always, images if asked for."""
    found: dict[Wanted, None] = {}
    for turn in reversed(request.messages):
        for wanted in reversed(list(_named(turn.content))):
            if images or wanted.kind == "document":
                found[wanted] = None
    return list(found)


def with_data(request: Request, outcomes: Outcomes) -> Request:
    """The request with the outcomes in the place of URLs.

    A note stands for a file that could not be fetched in a tool's result or an earlier turn than the user's last: no
    client can take it back. Raises RequestError, with the place, for any other, and GatewayError of kind `overloaded`
    for one whose turn did not come.
    """
    users = [at for at, turn in enumerate(request.messages) if turn.role == "user"]
    turns = []
    for at, turn in enumerate(request.messages):
        noted = turn.role == "user" and at != users[-1]
        turns.append(Message(turn.role, _filled(turn.content, f"messages.{at}.content", outcomes, noted=noted)))
    return attrs.evolve(request, messages=tuple(turns))


def _wanted(block: Block) -> Wanted | None:
    """The file that the block itself names by URL; a `data:` URL is data already."""
    if isinstance(block, ImageBlock) and block.url and not block.url.startswith("data:"):
        return Wanted("image", block.url)
    return Wanted("document", block.url) if isinstance(block, DocumentBlock) and block.url else None


def _named(blocks: Iterable[Block]) -> Iterator[Wanted]:
    for block in blocks:
        if (wanted := _wanted(block)) is not None:
            yield wanted
        elif isinstance(block, DocumentBlock | ToolResultBlock):
            yield from _named(block.content)


def _filled(blocks: Iterable[Block], path: str, outcomes: Outcomes, *, noted: bool) -> tuple[Block, ...]:
    """The blocks, which stand at `path`, with their outcomes."""
    out: list[Block] = []
    for at, block in enumerate(blocks):
        place = f"{path}.{at}"
        wanted = _wanted(block)
        if wanted is not None and wanted in outcomes:
            out.append(_with(block, outcomes[wanted], f"{place}.{wanted.kind}.source.url", noted=noted))
        elif isinstance(block, ToolResultBlock):
            inner = _filled(block.content, f"{place}.content", outcomes, noted=True)
            out.append(attrs.evolve(block, content=inner))
        elif isinstance(block, DocumentBlock) and block.content:
            inner = _filled(block.content, f"{place}.document.source.content", outcomes, noted=noted)
            out.append(attrs.evolve(block, content=inner))
        else:
            out.append(block)
    return tuple(out)


def _refusal(message: str, error: FetchError) -> GatewayError:
    if isinstance(error, BusyError):
        return GatewayError(message, kind="overloaded", retry_after=1, should_retry=True)
    return RequestError(message)


def _with(block: Block, outcome: Outcome, place: str, *, noted: bool) -> Block:
    if isinstance(outcome, FetchError):
        if not noted:
            raise _refusal(f"{place}: {outcome}", outcome)
        if isinstance(block, DocumentBlock):
            return attrs.evolve(block, url="", text=f"[A document was here that cannot be read: {outcome}]")
        return TextBlock(f"[An image was here that cannot be shown: {outcome}]")
    if isinstance(block, DocumentBlock):
        return attrs.evolve(block, url="", media_type=outcome.media_type, data=outcome.data)
    return ImageBlock(media_type=outcome.media_type, data=outcome.data)
