"""Gateways of given plugins around one backend, whose network is a given transport."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs
import httpx

from core.chat.client import UpstreamClient
from core.config import Config, PipelineConfig
from core.config.faults import placed
from core.config.file import read_backend
from core.config.types import make_converter
from core.errors import ConfigError
from core.gateway import Gateway
from core.loader.assemble import Loaded, join
from core.loader.checks import chat_path, check_back, check_backend_alone, check_front, key_header
from core.loader.discovery import Catalogue
from core.loader.places import Places
from core.pipeline import Back, Pipeline

BACKEND = "upstream"
UPSTREAM_MODEL = "upstream-model"
FRONT = ("anthropic", "models", "access_log")

Plugin = str | type | object
"""An entry point's name, `module:Class`, a plugin's class, or a plugin."""
StreamSetting = Literal["auto", "always", "never"]
"""Whether the upstream is asked for a stream; auto: as the client asks."""
Options = Mapping[str, Mapping[str, Any]]
"""Tables of options by plugin: a name as given, or a class's name."""


class Assembly:
    """Plugins loaded around one backend, from which gateways are made with little effort.

    Such a gateway is mounted at /v1 and sends every model to the backend, as UPSTREAM_MODEL. `backend` are further keys
    of the backend's table, as in pipelines.toml: `{"key": "…", "extra_body": {…}, "max_stops": 2}`. Raises ConfigError
    for what hookline would refuse at its start.
    """

    def __init__(
        self, plugins: Sequence[Plugin], options: Options | None = None, backend: Mapping[str, Any] | None = None
    ) -> None:
        __tracebackhide__ = True
        try:
            self._assemble(plugins, options or {}, backend or {})
        except ConfigError as error:
            # The author of a test wants this one line, not the way to it.
            raise error.with_traceback(None) from None

    def _assemble(self, plugins: Sequence[Plugin], options: Options, table: Mapping[str, Any]) -> None:
        given = {_name(plugin): plugin for plugin in plugins if not isinstance(plugin, str)}
        names = tuple(plugin if isinstance(plugin, str) else _name(plugin) for plugin in plugins)
        converter = make_converter(os.environ)
        self._config = _config(converter, names, options, table)
        catalogue = Catalogue.installed()
        catalogue.found.update({name: _as_class(plugin) for name, plugin in given.items()})
        places = Places(self._config, catalogue, converter)
        (self._pipeline,), (self._backend,) = self._config.pipelines, self._config.backends.values()
        front, back = places.front(self._pipeline), places.back(self._backend)
        with placed(self._config.file):
            self._front, self._alone, self._pair = join(front), join(back), join(back, front)
            check_front(self._front)
            check_backend_alone(self._alone, attrs.evolve(self._backend, url=""))
            check_back(self._pair, self._backend)

    def back(self, transport: httpx.AsyncBaseTransport | None = None, upstream_stream: StreamSetting = "auto") -> Back:
        """The backend with a client of its own: its three hooks, as the gateway calls them.

        Without a transport it is the true network, at the table's `url`; `back.client.aclose()` ends it. The table's
        own `stream` holds where `upstream_stream` is `auto`.
        """
        backend = self._backend if upstream_stream == "auto" else attrs.evolve(self._backend, stream=upstream_stream)
        named = {"key_header": key_header(self._alone), "path": chat_path(self._alone)}
        return Back(BACKEND, self._pair, UpstreamClient(backend, transport, **named))

    def gateway(
        self, transport: httpx.AsyncBaseTransport | None = None, upstream_stream: StreamSetting = "auto"
    ) -> Gateway:
        """A gateway with a client of its own on the transport, or on the true network."""
        back = self.back(transport, upstream_stream)
        pipeline = Pipeline(self._pipeline.name, self._pipeline.paths, self._front, {BACKEND: back})
        return Gateway(Loaded(self._config, (pipeline,), (self._front, self._alone), (back.client,)))


def _config(converter: cattrs.Converter, names: tuple[str, ...], options: Options, table: Mapping[str, Any]) -> Config:
    models = {"models": {"*": {"backend": BACKEND, "model": UPSTREAM_MODEL}}}
    front = {name: mine for name, mine in options.items() if name in FRONT}
    back = {name: mine for name, mine in options.items() if name not in FRONT}
    keys = {"url": "http://upstream.invalid/v1", **table, "plugins": list(names)}
    backend = attrs.evolve(read_backend(converter, Path("replay"), BACKEND, keys), options=back)
    return Config("replay", (PipelineConfig("messages", ("/v1",), FRONT),), {BACKEND: backend}, {**models, **front})


def _name(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, type) else type(plugin).__name__


def _as_class(plugin: object) -> type:
    """The class itself, or for a plugin that is already made a class whose making gives just that plugin."""
    if isinstance(plugin, type):
        return plugin
    body = {"__new__": lambda _: plugin, "__attrs_attrs__": None}
    return type(type(plugin).__name__, (type(plugin),), body)
