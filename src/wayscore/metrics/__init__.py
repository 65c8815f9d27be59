"""Metrics: frozen values with their facts, and a function of one episode or of the measurements of many."""

from wayscore.metrics.base import Measurements, Metric
from wayscore.metrics.episode import Episode
from wayscore.metrics.paper import METRICS
from wayscore.metrics.registry import ALIASES, find_metric, find_metrics

__all__ = ["ALIASES", "METRICS", "Episode", "Measurements", "Metric", "find_metric", "find_metrics"]
