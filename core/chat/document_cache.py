"""The texts of PDFs: each is read once, a few at a time, and kept for the turns that follow."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from sys import getsizeof
from typing import Final

import anyio
import anyio.to_thread
import attrs

from core.chat.documents import NotBase64Error, decoded
from core.chat.pdf import PDFError
from core.chat.pdf_process import ReaderError, read_pdf
from core.errors import GatewayError

SIZE: Final = 32 * 1024 * 1024
"""Bytes of text that are kept."""
ENTRY: Final = 300
"""Bytes of what stands around one of them."""
AT_ONCE: Final = 2
"""Documents that are read at the same time."""
WAIT: Final = 60.0
"""Seconds in which the documents of one request must be read, the wait for their turn included."""

Reader = Callable[[bytes], Awaitable[str]]
"""The text of a PDF; raises PDFError or ReaderError."""


Outcome = str | PDFError | NotBase64Error | ReaderError
"""A document's text, or why there is none."""


@attrs.define(eq=False)
class _Flight:
    """A document that is being read."""

    landed: anyio.Event = attrs.field(factory=anyio.Event)
    outcome: Outcome | None = None


class DocumentCache:
    """Reads PDFs with `read`, `at_once` at a time; whoever wants one that is being read waits for that.

    Texts and refusals are kept, the last used first, up to `size` bytes. Nothing is kept of what was broken off.
    """

    def __init__(
        self, read: Reader = read_pdf, *, size: int = SIZE, at_once: int = AT_ONCE, seconds: float = WAIT
    ) -> None:
        self._read = read
        self._room = size
        self._turns = anyio.Semaphore(at_once)
        self._seconds = seconds
        self._kept: OrderedDict[bytes, str | PDFError] = OrderedDict()
        self._flights: dict[bytes, _Flight] = {}

    async def texts(self, documents: Collection[str]) -> dict[str, Outcome]:
        """The outcome for each of the documents, which are base64.

        Raises GatewayError of kind `overloaded` when they are not all read in time; those that are were not in vain.
        """
        found: dict[str, Outcome] = {}

        async def find(document: str) -> None:
            found[document] = await self._one(document)

        with anyio.move_on_after(self._seconds) as scope:
            async with anyio.create_task_group() as group:
                for document in documents:
                    group.start_soon(find, document)
        if scope.cancelled_caught:
            raise GatewayError(
                f"the documents of this request were not read within {self._seconds:g} seconds; try again",
                kind="overloaded",
            )
        return found

    async def _one(self, document: str) -> Outcome:
        key = await anyio.to_thread.run_sync(_digest, document)
        while (outcome := self._look_up(key)) is None and (flight := self._flights.get(key)) is not None:
            await flight.landed.wait()
            if flight.outcome is not None:
                return flight.outcome
        return outcome if outcome is not None else await self._fly(key, document)

    async def _fly(self, key: bytes, document: str) -> Outcome:
        flight = self._flights[key] = _Flight()
        try:
            async with self._turns:
                flight.outcome = await self._outcome(document)
            if isinstance(flight.outcome, str | PDFError):
                self._keep(key, flight.outcome)
            return flight.outcome
        finally:
            # Also when the client left: then one of those who wait reads the document again.
            del self._flights[key]
            flight.landed.set()

    async def _outcome(self, document: str) -> Outcome:
        try:
            return await self._read(await anyio.to_thread.run_sync(decoded, document))
        except (PDFError, NotBase64Error, ReaderError) as error:
            return error.with_traceback(None)

    def _look_up(self, key: bytes) -> str | PDFError | None:
        outcome = self._kept.get(key)
        if outcome is not None:
            self._kept.move_to_end(key)
        return outcome

    def _keep(self, key: bytes, outcome: str | PDFError) -> None:
        self._kept[key] = outcome
        self._room -= _weight(outcome)
        while self._room < 0:
            _, oldest = self._kept.popitem(last=False)
            self._room += _weight(oldest)


def _weight(outcome: str | PDFError) -> int:
    return getsizeof(outcome) + ENTRY


def _digest(document: str) -> bytes:
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).digest()
