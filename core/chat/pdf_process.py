"""Reads a PDF in a process of its own, which can be ended whatever the file makes it do."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from core.chat import pdf
from core.chat.pdf import FAULT, TEXT, PDFError

SECONDS: Final = 10
"""Processor time that one document may take. No time on the clock: a busy machine makes no document unreadable."""


class ReaderError(Exception):
    """The process ended without an answer, or could not begin: the document may be innocent."""


async def read_pdf(data: bytes, *, seconds: int = SECONDS, script: Sequence[str] = ("-P", pdf.__file__)) -> str:
    """The text of the PDF. The process has ended when this returns, raises or is cancelled.

    Raises PDFError for a document without a text to be got, too slow ones included, and ReaderError. `script` is what
    Python is started with.
    """
    process = await _start([sys.executable, *script, str(seconds)])
    try:
        answer = await _ask(process, data)
        status = await process.wait()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return _text(answer, status, seconds)


async def _start(command: Sequence[str]) -> Process:
    try:
        # Cancelled half-way, asyncio would forget a process that runs already.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
    except OSError as error:
        raise ReaderError(f"no process can be started: {error}") from error
    return process


async def _ask(process: Process, data: bytes) -> bytes:
    """All that the process has to say. Its input stays open until then, for it ends when that is closed."""
    answer = b""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it ended: its status says the rest
        await _in(process).send(len(data).to_bytes(8, "big"))
        await _in(process).send(data)
        async for part in _out(process):
            answer += part
    return answer


def _text(answer: bytes, status: int, seconds: int) -> str:
    if status == 0 and answer.startswith(TEXT):
        return answer[1:].decode()
    if status == 0 and answer.startswith(FAULT):
        raise PDFError(answer[1:].decode())
    if hasattr(signal, "SIGXCPU") and status == -signal.SIGXCPU:
        raise PDFError(f"takes more than {seconds} seconds to be read")
    raise ReaderError(f"the reader of PDFs ended with status {status}")


def _in(process: Process) -> ByteSendStream:
    if process.stdin is None:
        raise ReaderError("the process has no input")
    return process.stdin


def _out(process: Process) -> ByteReceiveStream:
    if process.stdout is None:
        raise ReaderError("the process has no output")
    return process.stdout
