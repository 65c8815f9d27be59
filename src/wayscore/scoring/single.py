"""One episode at a time, as people score in loops of their own: no batch is made of two plain paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.distances.base import Floats
from wayscore.metrics.base import Metric
from wayscore.metrics.paper import METRICS, scores_of_one
from wayscore.metrics.registry import PAPERS
from wayscore.warping.alignment import index_and_table


def score_one(
    references: Any, queries: Any, distance: Any, metrics: tuple[Metric, ...], threshold: float
) -> dict[str, Floats] | None:
    """Return the paper's metrics of a single episode; None where there are more, or anything about it is unusual."""
    if type(references) is not list or type(queries) is not list or not len(references) == len(queries) == 1:
        return None
    (R,), (Q,) = references, queries
    if type(R) is tuple or type(Q) is tuple:  # which could be a node
        return None
    if metrics is not PAPERS and any(METRICS.get(metric.symbol) is not metric for metric in metrics):
        return None
    measured = kernels.pair_measures(R, Q, *index_and_table(distance), threshold, threshold)
    if measured is None:
        return None
    scores = np.array(scores_of_one(measured, threshold)).reshape(-1, 1)
    columns = dict(zip(METRICS, scores, strict=True))
    return columns if metrics is PAPERS else {metric.symbol: columns[metric.symbol] for metric in metrics}
