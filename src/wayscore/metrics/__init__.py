"""Metrics: frozen values with their facts and a batch function."""

from wayscore.metrics.base import Measurements, Metric, find_metrics
from wayscore.metrics.paper import METRICS

__all__ = ["METRICS", "Measurements", "Metric", "find_metrics"]
