"""audit: put metrics to the test, by changing episodes or on the runs of real systems."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wayscore.auditing.battery import Battery, run_battery
from wayscore.auditing.cases import from_references, from_worlds
from wayscore.auditing.experiments import find_experiments
from wayscore.convention.choices import PAPER
from wayscore.episodes.references import References
from wayscore.errors import OptionError
from wayscore.evaluation.inputs import find_distances, find_references
from wayscore.metrics import METRICS, Metric, find_metrics

DEFAULT = (*METRICS, "PC")
"""The paper's metrics, and the factor of CLS that it makes a claim about."""


def audit(
    metrics: Iterable[str | Metric] | str | None = None,
    *,
    references: References | str | os.PathLike[str] | None = None,
    graphs: Any = None,
    experiments: Iterable[str] | None = None,
    threshold: float | None = None,
    worlds: int = 40,
    paths: int | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Battery:
    """Audit metrics."""
    chosen = find_metrics(DEFAULT if metrics is None else metrics)
    wanted = find_experiments(experiments)
    if references is None:
        if graphs is not None:
            raise OptionError("<<graphs>> goes with <<references>>: paths that the experiments can change")
        cases = from_worlds(worlds, 5 if paths is None else paths, seed)
    else:
        known = find_references(references, reader)
        assert known is not None
        distances = find_distances(graphs, known, PAPER)
        cases = from_references(
            known,
            distances,
            threshold=PAPER.threshold if threshold is None else threshold,
            paths=200 if paths is None else paths,
            seed=seed,
        )
    return run_battery(cases, chosen, wanted, resamples=resamples, seed=seed, progress=progress)
