"""Where the configuration is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_path(environ: Mapping[str, str]) -> Path:
    """The file to read: what PIPELINES_TOML names, else ./pipelines.toml."""
    return Path(environ.get("PIPELINES_TOML") or "pipelines.toml")
