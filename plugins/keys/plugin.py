"""The plugin itself: its options and its hooks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, cast

import anyio.to_thread
import attrs

from core import (
    Answer,
    Config,
    ConfigError,
    HTTPRequest,
    Model,
    Record,
    Request,
    RequestError,
    Route,
    TokenEstimate,
    hookimpl,
)
from plugins.keys.gate import Gate, Holder
from plugins.keys.keeper import Keeper
from plugins.keys.key_file import KeyFile, KeyFileError
from plugins.keys.limits import MOST, Limits, Period
from plugins.keys.metered import Metered, tokens_of

_count = attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(MOST))
_Listed = Iterable[Model] | Awaitable[Iterable[Model]]


@attrs.define(eq=False)
class _Serves:
    """What there is once the configuration was checked, and the requests that are inside."""

    keeper: Keeper | None = None
    inside: dict[str, Admission] = attrs.field(factory=dict)
    """By the id of the request: its `http` is another one once its body was read."""

    def allow(self, http: HTTPRequest, model: str) -> bool:
        """Whether a request may name the model. One without an id is nobody's: the start asks what there is."""
        admission = self.inside.get(http.id)
        return admission.allows(model) if admission is not None else not http.id


@attrs.frozen(eq=False)
class Keys:
    """Lets in those clients alone that send one of the keys of a file, each within its limits. For a pipeline.

    The limits here hold for keys that have none of their own; 0 is no limit. `hookline keys` makes and revokes keys.
    """

    guards: ClassVar[bool] = True

    file: Path = Path("keys.json")
    """The file with the keys, relative to pipelines.toml."""
    usage: Path = Path("usage.sqlite3")
    """The file with what was used, relative to that of the keys."""
    models: tuple[str, ...] = ()
    """Globs of the models that a key may use, by the client's names; none: all."""
    requests_per_minute: int = attrs.field(default=0, validator=_count)
    """Requests of a key in any minute."""
    tokens_per_minute: int = attrs.field(default=0, validator=_count)
    """Tokens of a key in any minute, of prompts and answers; they count once a request is over."""
    max_concurrent: int = attrs.field(default=0, validator=_count)
    """Requests of a key at once, per worker."""
    budget_tokens: int = attrs.field(default=0, validator=_count)
    """Tokens of a key in each period."""
    budget_period: Period = "month"
    """The period, by the calendar of UTC."""
    _serves: _Serves = attrs.field(init=False, repr=False, factory=_Serves)

    @property
    def defaults(self) -> Limits:
        """The limits of keys that have none of their own."""
        return Limits(
            self.models,
            self.requests_per_minute,
            self.tokens_per_minute,
            self.max_concurrent,
            self.budget_tokens,
            self.budget_period,
        )

    def files(self, config: Config) -> tuple[Path, Path]:
        """The file of the keys and that of the usage, for a configuration."""
        keys = Path(config.file).parent / self.file
        return keys, keys.parent / self.usage

    @hookimpl
    def check(self, config: Config) -> None:
        """Read the keys. Raises ConfigError when there are none to read. At a reload what was read goes on."""
        if self._serves.keeper is not None:
            return
        keys, usage = self.files(config)
        keeper = Keeper(Gate(), self.defaults, KeyFile(keys), usage)
        try:
            keeper.load()
        except KeyFileError as error:
            raise ConfigError(str(error), key="file") from error
        if not usage.parent.is_dir():
            raise ConfigError(f"{usage.parent} is no directory", key="usage", hint="make it, or name another file")
        self._serves.keeper = keeper

    def take_over(self, before: Keys) -> None:
        """Count the requests that still run with the table before, too; rates and budgets are in the file of usage."""
        if self._serves.keeper is not None and before._serves.keeper is not None:
            self._serves.keeper.gate.running = before._serves.keeper.gate.running

    @hookimpl
    def lifespan(self) -> AbstractAsyncContextManager[None] | None:
        """Keep up with both files while serving."""
        return _running(self._serves.keeper) if self._serves.keeper is not None else None

    @hookimpl
    def exchange(self, http: HTTPRequest, record: Record) -> Admission | None:
        """A context around the request, which refuses it on entering without a key or over a limit.

        `HEAD /` is let through: clients open their connection with it, and its answer says nothing.
        """
        if http.method == "HEAD" and not (http.mount + http.path).strip("/"):
            return None
        return Admission(self._serves, http, record)

    @hookimpl(wrapper=True)
    def route(self, http: HTTPRequest, request: Request) -> Generator[None, Route | None, Route | None]:
        """The route, if the key may use the model; else the error of a model that is not there."""
        if not self._serves.allow(http, request.model):
            raise RequestError(f"model: {request.model}", kind="not_found")
        return (yield)

    @hookimpl(wrapper=True)
    def list_models(self, http: HTTPRequest) -> Generator[None, list[_Listed], list[_Listed]]:
        """The models that the key may use."""
        answers = yield
        return [_allowed(answer, partial(self._serves.allow, http)) for answer in answers]

    @hookimpl(wrapper=True)
    def serialize(self, http: HTTPRequest, request: Request | None) -> Generator[None, Answer, Answer]:
        """The answer; what of it goes out is counted, for clients that leave before the engine has."""
        answer = yield
        admission = self._serves.inside.get(http.id)
        if admission is None or cast("Answer | None", answer) is None or request is None or request.task != "message":
            return answer
        return Metered(answer, admission.passed)


@attrs.define(eq=False, repr=False)
class Admission:
    """One request, and whose it is once it was let in."""

    serves: _Serves
    http: HTTPRequest
    record: Record
    passed: TokenEstimate = attrs.field(factory=TokenEstimate)
    holder: Holder | None = None

    def allows(self, model: str) -> bool:
        """Whether the key may use a model."""
        return self.holder is not None and self.holder.limits.allows(model)

    async def __aenter__(self) -> None:
        keeper = self.serves.keeper
        if keeper is None:
            raise RuntimeError("the plugin 'keys' was never checked: there are no keys")
        self.holder = keeper.gate.enter(self.http, self.record)
        self.serves.inside[self.http.id] = self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        holder, self.holder = self.holder, None
        self.serves.inside.pop(self.http.id, None)
        if holder is not None and self.serves.keeper is not None:
            used = (0, 0)
            try:
                used = tokens_of(self.record, self.passed)
            finally:
                self.serves.keeper.gate.leave(holder, *used)


@asynccontextmanager
async def _running(keeper: Keeper) -> AsyncIterator[None]:
    await anyio.to_thread.run_sync(keeper.start)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(keeper.stop)


def _allowed(answer: Any, allow: Callable[[str], bool]) -> _Listed:
    """Those of an answer's models that the key may use."""

    async def later() -> list[Model]:
        return [model for model in await answer if allow(model.id)]

    return later() if isinstance(answer, Awaitable) else [model for model in answer if allow(model.id)]
