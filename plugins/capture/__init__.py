"""`capture`: writes whole exchanges into files, the upstream's bytes read by read, for `hookline trace` and tests."""

from plugins.capture.plugin import Capture

__all__ = ["Capture"]
