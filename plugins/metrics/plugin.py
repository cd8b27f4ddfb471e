"""The plugin itself: its options and its hooks."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from typing import ClassVar

import attrs
import structlog

from core import Config, ConfigError, HTTPRequest, Page, Record, Traffic, hookimpl
from plugins.metrics.meters import Meters
from plugins.metrics.port import host_port, refuse_taken, serving
from plugins.metrics.run import Run
from plugins.metrics.scrape import CONTENT_TYPE, page_of
from plugins.metrics.sums import Sums
from plugins.metrics.values import Files


@attrs.define
class _Serves:
    """What there is once serving has begun: this worker's seat and its numbers."""

    run: Run | None = None
    meters: Meters | None = None
    sums: Sums = attrs.field(factory=Sums)


@attrs.frozen(eq=False)
class Metrics:
    """Prometheus metrics of all workers together, at a path or at an address of their own. For a pipeline.

    No client's address and no key is in them; models are told apart up to a number.
    """

    onlooker: ClassVar[bool] = True

    path: str = "/metrics"
    """Where they are on the server's own address; without effect when `bind` is set."""
    bind: str = ""
    """HOST:PORT of their own: they are there at /metrics, and no longer where clients come."""
    max_models: int = attrs.field(default=100, validator=attrs.validators.ge(1))
    """Models of the upstream with a label of their own, per worker; the others are counted as "other"."""
    _serves: _Serves = attrs.field(init=False, repr=False, factory=_Serves)

    @hookimpl
    def check(self, config: Config) -> None:
        """Refuse an address that is none, and a path that is not free. Raises ConfigError."""
        if self.bind:
            try:
                host_port(self.bind)
            except ValueError as error:
                raise ConfigError(f"bind {error}", hint='write bind = "127.0.0.1:9464"') from error
            return
        mounts = [path.rstrip("/") for pipeline in config.pipelines for path in pipeline.paths]
        taken = any(self.path == mount or self.path.startswith(f"{mount}/") for mount in mounts if mount)
        if not self.path.startswith("/") or self.path in {"/", "/healthz", "/readyz"} or taken:
            raise ConfigError(f"path {self.path!r} is not free for a page", hint='write path = "/metrics"')

    @hookimpl
    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Take a seat among the workers; listen on the own address. Raises OSError."""
        return self._running()

    @hookimpl
    def observe(self, records: Sequence[Record], traffic: Traffic) -> None:
        """Count them."""
        if self._serves.meters is not None:
            self._serves.meters.take(records, traffic)

    @hookimpl
    def page(self, http: HTTPRequest) -> Page | None:
        """The metrics, if they are asked for and have no address of their own."""
        return self._page() if http.path == self.path and not self.bind else None

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        with ExitStack() as stack:
            if self.bind:
                host, port = host_port(self.bind)
                run = Run.join(if_first=partial(refuse_taken, host, port))
                stack.enter_context(serving(host, port, self._page))
            else:
                run = Run.join()
            # Not when this ends: after a reload requests that began with this plugin still run, and what it counted
            # belongs to the sum until the server ends.
            atexit.register(run.leave)
            self._serves.run = run
            with run.reading():  # a file that is not whole yet could not be read
                files = Files(run.directory, run.seat)
            self._serves.meters = meters = Meters(files, self.max_models)
            looking = asyncio.create_task(meters.backends.looking())
            stack.callback(looking.cancel)
            yield

    def _page(self) -> Page:
        run = self._serves.run
        if run is None:
            return Page(b"the server does not serve yet\n", status=503)
        try:
            return Page(page_of(run, self._serves.sums), CONTENT_TYPE)
        except OSError as error:
            structlog.get_logger().warning("metrics cannot be read", why=str(error))
            return Page(b"the metrics cannot be read; the log says why\n", status=500)
