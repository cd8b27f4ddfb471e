"""From names in pipelines.toml to checked plugins, joined and ready to serve."""

from core.loader.assemble import Loaded, load

__all__ = ["Loaded", "load"]
