"""`metrics`: Prometheus metrics of all workers, summed in one scrape."""

from plugins.metrics.plugin import Metrics

__all__ = ["Metrics"]
