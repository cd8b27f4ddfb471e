"""The Anthropic Messages API, spoken to clients: the front plugin `anthropic`."""

from plugins.anthropic.plugin import Anthropic

__all__ = ["Anthropic"]
