"""A gateway with several backends behind one name, tried in the order in which they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from core import Candidate, Chunk, HTTPRequest, Request, Route, UpstreamError, hookimpl
from core.balance.state import BackendState
from core.chat import UpstreamClient
from core.config import BackendConfig, Config, ServerConfig
from core.loader import Loaded
from core.pipeline import Back, Pipeline
from core.route import Candidate as _Candidate
from plugins.access_log import AccessLog
from tests.core.fakes import Collected, Front, Prompt, Script, Upstream, manager

__all__ = ["Several", "answers", "breaks", "fails"]


@attrs.frozen(eq=False)
class Routes:
    """Every model goes to all of them, the first first."""

    candidates: tuple[_Candidate, ...]

    @hookimpl(tryfirst=True)
    def route(self, request: Request) -> Route | None:
        return Route(self.candidates)


def answers(text: str) -> Script:
    """A whole answer."""

    async def script() -> Any:
        yield [{"text": text}]
        yield [{"end": True}]

    return script


def fails(error: Exception) -> Script:
    """Nothing but this."""
    return breaks([], error)


def breaks(batches: Sequence[list[Chunk]], error: Exception | None = None) -> Script:
    """These, then the error or an end that is none."""

    async def script() -> Any:
        for batch in batches:
            yield batch
        if error is not None:
            raise error

    return script


class Several:
    """The gateway, and what became of its backends: `log` has the opened and closed calls of all, in order."""

    def __init__(
        self,
        scripts: Mapping[str, Script],
        *,
        server: ServerConfig | None = None,
        front: Sequence[object] = (),
        candidates: Sequence[Candidate] = (),
        limits: Mapping[str, Mapping[str, Any]] | None = None,
        **backend: Any,
    ) -> None:
        self.log: list[str] = []
        limits = limits or {}
        configs = {name: BackendConfig(name, ("U",), **{**backend, **limits.get(name, {})}) for name in scripts}
        backs = {
            name: Back(name, manager(Upstream(script, _Named(name, self.log))), UpstreamClient(configs[name]))
            for name, script in scripts.items()
        }
        self.states: dict[str, BackendState] = {name: back.state for name, back in backs.items()}
        named = tuple(Candidate(name, "up", priority=number) for number, name in enumerate(scripts))
        routes = Routes(tuple(candidates) or named)
        pipeline = Pipeline("p", ("/api",), manager(Front(), routes, AccessLog(), *front), backs)
        managers = (pipeline.manager, *(back.manager for back in backs.values()))
        config = Config("t", (), configs, server=server or ServerConfig())
        self.gateway = Prompt(Loaded(config, (pipeline,), managers, tuple(back.client for back in backs.values())))

    async def ask(self, path: str = "/api/stream", sink: Collected | None = None, client: str = "") -> Collected:
        """The answer to one request."""
        sink = sink or Collected(gone=False)
        await self.gateway.handle(HTTPRequest("POST", path, client=client), sink)
        return sink

    def cool(self, name: str, error: UpstreamError) -> None:
        """Let a backend fail."""
        self.states[name].health.begin().failed(error)


class _Named(list[str]):
    """Writes into the log of all, with the name."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__()
        self._name = name
        self._log = log

    def append(self, what: str) -> None:
        self._log.append(f"{self._name} {what}")
