"""Config -> what serves: plugins joined in pluggy managers, one client per backend, and every check of the start.

There is one manager per pipeline (its front), one per pair of pipeline and backend (the back hooks are called on it)
and one per backend alone, so that `check` and `lifespan` meet each plugin once.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

import attrs
import pluggy

from core.chat.client import UpstreamClient
from core.config import Config, PipelineConfig
from core.config.faults import TableError, dotted, placed
from core.config.types import make_converter
from core.culprit import FAULTS
from core.errors import ConfigError
from core.hookspecs import PROJECT, Hooks
from core.loader.checks import chat_path, check_back, check_backend_alone, check_front, key_header
from core.loader.discovery import Catalogue
from core.loader.places import Places
from core.loader.reuse import BackPart, Made, Plugins
from core.pipeline import Back, Pipeline
from core.raised import in_words


@attrs.frozen(eq=False)
class Loaded:
    """All that a gateway serves with.

    `managers` hold each plugin exactly once, a manager per pipeline and per backend; `clients` are one per backend.
    `made` is what plugins and clients were made of.
    """

    config: Config
    pipelines: tuple[Pipeline, ...]
    managers: tuple[pluggy.PluginManager, ...]
    clients: tuple[UpstreamClient, ...]
    made: Made = attrs.field(factory=Made)


def load(config: Config, environ: Mapping[str, str] | None = None, previous: Loaded | None = None) -> Loaded:
    """Everything that `config` names, checked and assembled; nothing is started. No event loop is needed.

    `environ` (None: the process's) is where plugins' options of type Secret find `{ env = "NAME" }`. Plugins and
    clients of `previous` that would be made of the same are taken as they are; it keeps them all the same.
    Raises ConfigError, one line, for the first thing that cannot be served.
    """
    converter = make_converter(os.environ if environ is None else environ)
    if previous is not None:
        importlib.invalidate_caches()  # for what was installed in the meantime
    places = Places(config, Catalogue.installed(), converter, previous.made if previous is not None else Made())
    fronts = {pipeline.name: places.front(pipeline) for pipeline in config.pipelines}
    backs = {backend.name: places.back(backend) for backend in config.backends.values()}
    alone = {}
    for name, plugins in backs.items():
        with placed(config.file, dotted("backends", name), "plugins"):
            alone[name] = join(plugins)
            check_backend_alone(alone[name], config.backends[name])
    parts = places.made.backs
    clients = {name: _client(part, alone[name]) for name, part in parts.items()}
    pipelines = tuple(_pipeline(config, each, fronts[each.name], parts, clients) for each in config.pipelines)
    managers = {dotted("pipelines", pipeline.name): pipeline.manager for pipeline in pipelines}
    managers.update({dotted("backends", name): manager for name, manager in alone.items()})
    for table, manager in managers.items():
        _check(config, table, manager)
    return Loaded(config, pipelines, tuple(managers.values()), tuple(clients.values()), places.made)


class Manager(pluggy.PluginManager):
    """pluggy's, but without the hooks that a plugin says it does not need as it is set up: its `unused`, by name."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        """The options of the hook that this attribute of the plugin is; None: it is none."""
        return None if name in getattr(plugin, "unused", ()) else super().parse_hookimpl_opts(plugin, name)


def join(*places: Plugins) -> pluggy.PluginManager:
    """The plugins registered in order, so that the last is asked first and wraps the others. Raises TableError."""
    manager = Manager(PROJECT)
    manager.add_hookspecs(Hooks)
    for plugins in places:
        for name, plugin in plugins.items():
            _register(manager, name, plugin)
    return manager


def _register(manager: pluggy.PluginManager, name: str, plugin: object) -> None:
    if manager.has_plugin(name):
        raise TableError(
            f"plugin {name!r} is in the pipeline and, as a default, in this backend", hint="set wraps = []"
        )
    for other, registered in manager.list_name_plugin():
        if registered == plugin:
            hint = "keep one of them, or give the class @attrs.frozen(eq=False)"
            raise TableError(f"plugins {other!r} and {name!r} are equal, and pluggy takes them for one", hint=hint)
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise TableError(f"plugin {name!r}: {error}") from error


def _client(part: BackPart, alone: pluggy.PluginManager) -> UpstreamClient:
    if part.client is None:
        part.client = UpstreamClient(part.config, key_header=key_header(alone), path=chat_path(alone))
    return part.client


def _pipeline(
    config: Config,
    pipeline: PipelineConfig,
    front: Plugins,
    parts: Mapping[str, BackPart],
    clients: Mapping[str, UpstreamClient],
) -> Pipeline:
    with placed(config.file, dotted("pipelines", pipeline.name), "plugins"):
        manager = join(front)
        check_front(manager)
    pairs = {}
    for name, part in parts.items():
        with placed(config.file, dotted("backends", name), "plugins"):
            pair = join(part.plugins, front)
            check_back(pair, config.backends[name])
        pairs[name] = Back(name, pair, clients[name], part.state)
    return Pipeline(pipeline.name, pipeline.paths, manager, pairs)


def _check(config: Config, table: str, manager: pluggy.PluginManager) -> None:
    """Let the plugins of one place look at the whole configuration, one by one, so that a refusal names its plugin."""
    plugins = manager.list_name_plugin()
    for name, plugin in reversed(plugins):
        others = [other for _, other in plugins if other is not plugin]
        with placed(config.file, table):
            try:
                manager.subset_hook_caller("check", others)(config=config)
            except ConfigError as error:
                if error.table:
                    raise
                said = error.message.removeprefix(f"{error.file}: ")
                raise ConfigError(f"plugin {name!r}: {said}", table=table, file=error.file) from error
            except FAULTS as error:
                raise TableError(f"plugin {name!r}: its check failed: {in_words(error)}") from error
