"""wayscore: scores the way, not just the goal.

Metrics for instruction-following navigation, nDTW and SDTW above all. Names are imported when first used, so
that `import wayscore` costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "warping.alignment": ("Alignment", "align", "dtw", "fast_dtw", "ndtw", "sdtw"),
    "evaluation.arrow": ("score_table",),
    "evaluation.streaming": ("score_stream",),
    "convention": ("Convention",),
    "convention.presets": ("conventions",),
    "distances": ("Distance", "Euclidean", "Function", "Graph", "Grid", "Table"),
    "distances.matterport": ("load_graphs",),
    "errors": (
        "DistanceError",
        "FormatError",
        "MissingPackageError",
        "OptionError",
        "OutputError",
        "PathError",
        "UnknownNodeError",
        "UnknownSceneError",
        "WayscoreError",
    ),
    "episodes": ("join",),
    "formats": ("load_references", "load_run"),
    "metrics": ("METRICS", "Metric"),
    "navigation.rewards": ("FidelityReward", "GoalReward", "Reward"),
    "paths": ("PathBatch",),
    "warping.running": ("RunningBatch", "RunningDTW"),
    "scoring": ("score",),
    "convention.signature": ("Signature",),
    "scoring.table": ("ScoreTable",),
    "worlds": ("World",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "METRICS",
    "Alignment",
    "Convention",
    "Distance",
    "DistanceError",
    "Euclidean",
    "FidelityReward",
    "FormatError",
    "Function",
    "GoalReward",
    "Graph",
    "Grid",
    "Metric",
    "MissingPackageError",
    "OptionError",
    "OutputError",
    "PathBatch",
    "PathError",
    "Reward",
    "RunningBatch",
    "RunningDTW",
    "ScoreTable",
    "Signature",
    "Table",
    "UnknownNodeError",
    "UnknownSceneError",
    "WayscoreError",
    "World",
    "align",
    "conventions",
    "dtw",
    "fast_dtw",
    "join",
    "load_graphs",
    "load_references",
    "load_run",
    "ndtw",
    "score",
    "score_stream",
    "score_table",
    "sdtw",
]

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.convention.presets import conventions
    from wayscore.convention.signature import Signature
    from wayscore.distances import Distance, Euclidean, Function, Graph, Grid, Table
    from wayscore.distances.matterport import load_graphs
    from wayscore.episodes import join
    from wayscore.errors import (
        DistanceError,
        FormatError,
        MissingPackageError,
        OptionError,
        OutputError,
        PathError,
        UnknownNodeError,
        UnknownSceneError,
        WayscoreError,
    )
    from wayscore.evaluation.arrow import score_table
    from wayscore.evaluation.streaming import score_stream
    from wayscore.formats import load_references, load_run
    from wayscore.metrics import METRICS, Metric
    from wayscore.navigation.rewards import FidelityReward, GoalReward, Reward
    from wayscore.paths import PathBatch
    from wayscore.scoring import score
    from wayscore.scoring.table import ScoreTable
    from wayscore.warping.alignment import Alignment, align, dtw, fast_dtw, ndtw, sdtw
    from wayscore.warping.running import RunningBatch, RunningDTW
    from wayscore.worlds import World


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'wayscore' has no attribute {name!r}")
    value = getattr(import_module(f"wayscore.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
