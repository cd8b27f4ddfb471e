"""`models`: chooses backends and upstream models by the name the client sent, from the table [models]."""

from plugins.models.entry import Entry
from plugins.models.plugin import Models

__all__ = ["Entry", "Models"]
