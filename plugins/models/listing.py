"""The list of models that clients see: what the table says of a name, joined with what its backends say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import anyio
import structlog

from core import Model, UpstreamError
from core.chat import UpstreamClient, served_models
from plugins.models.entry import Entry

LIST_TIME = 2.0
"""Seconds that backends have to list their models: Claude Code gives the whole answer three."""

Served = Mapping[str, Sequence[Model]]
"""What backends list, by their names."""


def listed_model(name: str, entries: Sequence[Entry], served: Served) -> Model:
    """The model a client calls `name`: of several candidates' limits the smallest, for any may serve it."""
    told = [_found(entry, name, served) for entry in entries]
    windows = [entry.context or (model.context if model else None) for entry, model in zip(entries, told, strict=True)]
    return Model(
        name,
        next((entry.display_name for entry in entries if entry.display_name), name),
        next((model.created for model in told if model), 0),
        _smallest(windows),
        _smallest(entry.max_output_tokens for entry in entries),
    )


def _found(entry: Entry, name: str, served: Served) -> Model | None:
    if not entry.list:
        return None
    wanted = entry.model_for(name)
    return next((model for model in served.get(entry.backend, ()) if model.id == wanted), None)


def _smallest(limits: Iterable[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


async def served_by(backends: Iterable[str], clients: Mapping[str, UpstreamClient]) -> Served:
    """What these backends list, each asked once and all at the same time; one without a client lists nothing."""
    found: dict[str, Sequence[Model]] = {}

    async def ask(name: str) -> None:
        found[name] = await _served(clients[name])

    async with anyio.create_task_group() as tasks:
        for name in dict.fromkeys(backends):
            if name in clients:
                tasks.start_soon(ask, name)
    return found


async def _served(client: UpstreamClient) -> Sequence[Model]:
    """What a backend lists; nothing when it does not answer in time, which the log tells."""
    try:
        with anyio.fail_after(LIST_TIME):
            return await served_models(client)
    except (UpstreamError, TimeoutError) as error:
        structlog.get_logger().warning("backend lists no models", backend=client.backend.name, why=str(error))
        return ()
