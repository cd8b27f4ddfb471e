"""What a plugin raised: as what it is told, and whether it is a plugin's at all."""

from __future__ import annotations

import asyncio
import math
from typing import Final, NoReturn

import anyio

LENGTH: Final = 300
"""Characters of an exception's text that are told."""


ANYTHING: Final = (BaseException,)
"""What a plugin may raise: to be caught only where `raise_fault` follows, and where one awaited, after `leaves`."""


class PluginError(Exception):
    """A plugin raised what is no Exception; its cause is that."""


def raise_fault(error: BaseException) -> NoReturn:
    """Raise it, or an Exception that it is the cause of: what is none would end more than its request."""
    if isinstance(error, Exception):
        raise error
    raise PluginError(f"a plugin raised {type(error).__name__}") from error


def leaves(error: BaseException) -> bool:
    """Whether the task itself shall end (its client left, the server stops): for code that awaited, which lets it pass.

    A cancellation that nobody asked for, as of a task of the plugin's own, is a fault like any other.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0 or anyio.current_effective_deadline() == -math.inf
    return isinstance(error, GeneratorExit)


def drop_frames(error: BaseException | None) -> None:
    """Let go of what an error holds by its trace and its causes' traces: for one that is told, and remembered.

    Frames hold the error, too, so that only the collector of cycles would free them, with all of the request and of
    what came of its answer: many megabytes for many minutes.
    """
    waiting, seen = [error], set()
    while waiting:
        here = waiting.pop()
        if here is not None and id(here) not in seen:
            seen.add(id(here))
            here.__traceback__ = None
            waiting += [here.__cause__, here.__context__]
            if isinstance(here, BaseExceptionGroup):
                waiting += here.exceptions


def in_words(error: BaseException) -> str:
    """An exception's class and text on one line, not endless; the class alone where the text cannot be had."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  a plugin's own exception may be as broken as the plugin
        text = ""
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return words if len(words) <= LENGTH else f"{words[:LENGTH]}…"
