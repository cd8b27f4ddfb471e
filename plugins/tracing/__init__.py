"""`tracing`: OpenTelemetry spans of requests."""

from plugins.tracing.plugin import Tracing

__all__ = ["Tracing"]
