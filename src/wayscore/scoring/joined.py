"""Scores of a run that was joined with its references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance
from wayscore.errors import FormatError
from wayscore.metrics import find_metrics
from wayscore.scoring.score import WARPED, score
from wayscore.scoring.table import ScoreTable

if TYPE_CHECKING:
    from wayscore.episodes import Joined


def score_joined(joined: Joined, *, distance: Distance | Mapping[str, Distance] | None, **options: Any) -> ScoreTable:
    """Score a run that was joined with its references; the table has the references' order.

    Args:
        joined: what `wayscore.join` returned. Its `worst` episodes get the worst value of every metric.
        distance: d between two nodes or points, or one for each scene.
        **options: threshold, metrics, convention and threads, as for `score`.
    """
    rows = joined.pairs
    convention = find_convention(options.get("convention", "paper"))
    chosen = find_metrics(options.get("metrics") or convention.metrics or None)
    to_dense = convention.reference == "dense" and not WARPED.isdisjoint(metric.symbol for metric in chosen)
    table = score(
        references=[reference.path for reference, _ in rows],
        queries=[query.path for _, query in rows],
        distance=distance,
        scenes=[reference.scene for reference, _ in rows],
        stopped=[query.stopped for _, query in rows],
        goals=[reference.goals for reference, _ in rows] if any(reference.goals for reference, _ in rows) else None,
        start_distances=[reference.start_distance for reference, _ in rows],
        dense=_dense_paths(joined) if to_dense else None,
        episodes=joined.episodes,
        **options,
    )
    if not joined.worst:
        return table
    names = [*joined.episodes, *(reference.episode for reference in joined.worst)]
    order = np.argsort([joined.order[name] for name in names])
    columns = {
        metric.symbol: np.concatenate((table[metric.symbol], np.full(len(joined.worst), metric.worst)))[order]
        for metric in chosen
    }
    scenes = [reference.scene for reference, _ in rows] + [reference.scene for reference in joined.worst]
    return ScoreTable(
        columns,
        table.settings,
        episodes=[names[number] for number in order],
        scenes=[scenes[number] for number in order],
        own_metrics=table.own_metrics,
    )


def _dense_paths(joined: Joined) -> list[Any]:
    missing = next((reference.episode for reference, _ in joined.pairs if reference.dense is None), None)
    if missing is not None:
        raise FormatError(
            f"{joined.references}: episode {missing} has no dense path, which this convention warps to; put the "
            "dataset's _gt file beside the references"
        )
    return [reference.dense for reference, _ in joined.pairs]
