"""The plugins that a pipelines.toml lists, for commands that plugins bring."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from core.config import Config
from core.config.file import read_config
from core.config.path import config_path
from core.config.types import make_converter
from core.loader.discovery import Catalogue
from core.loader.places import Places

T = TypeVar("T")
Listed = Callable[[type[T], Path | None], tuple[Config, list[T]]]
"""What `listed` is: see there."""


def listed(cls: type[T], file: Path | None = None) -> tuple[Config, list[T]]:
    """A pipelines.toml, and the plugins of that class in its pipelines, made with their options but not checked.

    `file` None is the one that `hookline serve` would read here. Raises ConfigError.
    """
    if (here := str(Path.cwd())) not in sys.path:  # for `module:Class`, as serving has it
        sys.path.append(here)
    config = read_config(file or config_path(os.environ), os.environ)
    places = Places(config, Catalogue.installed(), make_converter(os.environ))
    plugins = [plugin for pipeline in config.pipelines for plugin in places.front(pipeline).values()]
    return config, [plugin for plugin in plugins if isinstance(plugin, cls)]
