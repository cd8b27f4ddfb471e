"""`keys`: who may come in, for which models, how often and for how many tokens."""

from plugins.keys.plugin import Keys

__all__ = ["Keys"]
