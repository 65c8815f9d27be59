"""One episode at a time, as people score in loops of their own: no batch is made of two plain paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.evaluation.table import Rows
from wayscore.metrics.base import Metric
from wayscore.metrics.paper import METRICS, scores_of_one
from wayscore.metrics.registry import PAPERS
from wayscore.warping.alignment import index_and_table

ONE = range(1)
NUMBERS = {symbol: number for number, symbol in enumerate(METRICS)}


def score_one(
    references: Any, queries: Any, distance: Any, metrics: tuple[Metric, ...], threshold: float
) -> Rows | None:
    """Return the paper's metrics of a single episode; None where there are more, or anything about it is unusual."""
    if type(references) is not list or type(queries) is not list or not len(references) == len(queries) == 1:
        return None
    reference, query = references[0], queries[0]
    if type(reference) is tuple or type(query) is tuple:  # which could be a node
        return None
    if metrics is PAPERS:
        numbers = NUMBERS
    elif all(METRICS.get(metric.symbol) is metric for metric in metrics):
        numbers = {metric.symbol: NUMBERS[metric.symbol] for metric in metrics}
    else:
        return None
    measured = kernels.pair_measures(reference, query, *index_and_table(distance), threshold, threshold)
    if measured is None:
        return None
    return Rows(numbers, np.array([scores_of_one(measured, threshold)]).T)
