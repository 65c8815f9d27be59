"""Metrics: frozen values with their facts and a batch function."""

from wayscore.metrics.base import Measurements, Metric
from wayscore.metrics.paper import METRICS
from wayscore.metrics.registry import find_metrics

__all__ = ["METRICS", "Measurements", "Metric", "find_metrics"]
