"""Small plugins, and pipelines.toml files that name them as `tests.core.samples:Class`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs

from core import Candidate, ConfigError, Model, Request, Route, hookimpl
from core.config import Config, Secret
from core.config.file import read_config
from core.config.options import whole_table

HERE = "tests.core.samples"
PIPELINE = f'[pipelines.main]\npaths = ["/v1"]\nplugins = ["{HERE}:Front"]\n'
BACKEND = f'[backends.one]\nplugins = ["{HERE}:Engine"]\n'


def write(folder: Path, text: str) -> Path:
    """A pipelines.toml of that text."""
    path = folder / "pipelines.toml"
    path.write_text(text)
    return path


def config_of(folder: Path, text: str = PIPELINE + BACKEND, **environ: str) -> Config:
    """The Config that a pipelines.toml of that text makes."""
    return read_config(write(folder, text), environ)


class Called(str):
    """A call by its name only: nobody enters it."""

    __slots__ = ()

    async def __aenter__(self) -> None:
        raise NotImplementedError

    async def __aexit__(self, *_: object) -> None:
        raise NotImplementedError


class Words(list[str]):
    """A translator that is the list of those that made it."""

    def feed(self, *_: object) -> tuple[()]:
        return ()

    def flush(self) -> tuple[()]:
        return ()


@attrs.frozen(eq=False)
class Front:
    """Answers the three front hooks; knows one model per backend named in `backends`."""

    backends: tuple[str, ...] = ("one",)
    secret: Secret | None = None
    seen: list[str] = attrs.field(factory=list, init=False)

    @hookimpl
    def parse(self) -> Request:
        return Request("message")

    @hookimpl
    def route(self, request: Request) -> Route | None:
        if request.model.removeprefix("model-") in self.backends:
            return Route((Candidate(request.model.removeprefix("model-"), "upstream"),))
        return None

    @hookimpl
    def serialize(self) -> str:
        return "answer"

    @hookimpl
    def list_models(self) -> list[Model]:
        return [Model(f"model-{name}") for name in self.backends]

    @hookimpl
    def check(self, config: Config) -> None:
        self.seen.append(config.file)


@attrs.frozen(eq=False)
class Engine:
    """Answers the three back hooks and needs no url."""

    needs_url: ClassVar[bool] = False
    word: str = "engine"

    @hookimpl
    def call_upstream(self) -> Called:
        return Called(f"call of {self.word}")

    @hookimpl
    def translate_content(self) -> Words:
        return Words([self.word])

    @hookimpl
    def translate_stop(self) -> Words:
        return Words(["stop"])


@attrs.frozen(eq=False)
class Remote(Engine):
    """An engine that needs a url."""

    needs_url: ClassVar[bool] = True


@attrs.frozen(eq=False)
class Wrapped(Engine):
    """An engine with a default wrapper."""

    wraps: ClassVar[tuple[str, ...]] = (f"{HERE}:Wrapper",)


@attrs.frozen(eq=False)
class Wrapper:
    """Adds its word to what it wraps."""

    word: str = "wrapper"

    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Words, Words]:
        return Words([*(yield), self.word])


@attrs.frozen(eq=False)
class BothSides:
    """Has hooks of both sides: wraps the front's parse and the back's content."""

    @hookimpl(wrapper=True)
    def translate_content(self) -> Generator[None, Words, Words]:
        return Words([*(yield), "both"])

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""


@attrs.frozen(eq=False)
class Free:
    """Takes a table of free keys."""

    table: Mapping[str, int] = whole_table()

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""


class NoOptions:
    """No attrs class: takes no options."""

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""


@attrs.frozen
class Equal:
    """A plugin whose instances are equal."""

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""


Alias = Equal


@attrs.frozen(eq=False)
class Refusing:
    """Refuses every configuration."""

    how: str = "ConfigError"

    @hookimpl
    def check(self, config: Config) -> None:
        if self.how == "ConfigError":
            raise ConfigError("not today", table="today", key="weather", hint="wait")
        raise ValueError("broken")


@attrs.frozen(eq=False)
class Unmakeable:
    """Cannot be made."""

    level: int = 0

    def __attrs_post_init__(self) -> None:
        if self.level > 1:
            raise ConfigError("too high")
        raise ValueError("no luck")

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""


class BadWraps(Engine):
    """Names its wrappers wrongly."""

    wraps: ClassVar[Any] = "stop_scan"


NOT_A_CLASS = Front()
