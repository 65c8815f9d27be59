"""wayscore: scores the way, not just the goal.

Metrics for instruction-following navigation, nDTW and SDTW above all. Names are imported when first used, so
that `import wayscore` costs little.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to load than all that `wayscore --version` needs

__version__ = "0.2.0"

_HOMES = {
    "convention.choices": ("Convention",),
    "convention.presets": ("conventions",),
    "convention.signature": ("Signature",),
    "distances.base": ("Distance", "Euclidean"),
    "distances.function": ("Function",),
    "distances.graph": ("Graph",),
    "distances.graphs": ("load_graphs",),
    "distances.grid": ("Grid",),
    "distances.navmesh": ("NavMesh", "load_navmeshes"),
    "distances.table": ("Snapped", "Table"),
    "formats.episodes": ("Query", "Reference", "References", "Run"),
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
    "evaluation.comparison": ("Comparison", "compare"),
    "evaluation.evaluator": ("evaluate",),
    "evaluation.result": ("Result",),
    "evaluation.saved": ("load_result",),
    "evaluation.validation": ("join", "validate"),
    "formats": ("load_references", "load_run"),
    "lab.audit.audit": ("audit",),
    "metrics": ("METRICS", "Episode", "Metric"),
    "paths": ("PathBatch",),
    "rewards.finetuning": ("PathReward",),
    "rewards.rewards": ("FidelityReward", "GoalReward", "Reward"),
    "rewards.wrapper": ("FidelityWrapper",),
    "evaluation.score": ("score",),
    "evaluation.table": ("ScoreTable",),
    "warping.alignment": ("Alignment", "align", "dtw", "fast_dtw", "ndtw", "sdtw"),
    "warping.running": ("RunningBatch", "RunningDTW"),
    "worlds": ("World",),
}
"""Module -> the public names that it holds."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from typing import Any

    from wayscore.convention.choices import Convention as Convention
    from wayscore.convention.presets import conventions as conventions
    from wayscore.convention.signature import Signature as Signature
    from wayscore.distances.base import Distance as Distance, Euclidean as Euclidean
    from wayscore.distances.function import Function as Function
    from wayscore.distances.graph import Graph as Graph
    from wayscore.distances.graphs import load_graphs as load_graphs
    from wayscore.distances.grid import Grid as Grid
    from wayscore.distances.navmesh import NavMesh as NavMesh, load_navmeshes as load_navmeshes
    from wayscore.distances.table import Snapped as Snapped, Table as Table
    from wayscore.errors import (
        DistanceError as DistanceError,
        FormatError as FormatError,
        MissingPackageError as MissingPackageError,
        OptionError as OptionError,
        OutputError as OutputError,
        PathError as PathError,
        UnknownNodeError as UnknownNodeError,
        UnknownSceneError as UnknownSceneError,
        WayscoreError as WayscoreError,
    )
    from wayscore.evaluation.comparison import Comparison as Comparison, compare as compare
    from wayscore.evaluation.evaluator import evaluate as evaluate
    from wayscore.evaluation.result import Result as Result
    from wayscore.evaluation.saved import load_result as load_result
    from wayscore.evaluation.score import score as score
    from wayscore.evaluation.table import ScoreTable as ScoreTable
    from wayscore.evaluation.validation import join as join, validate as validate
    from wayscore.formats import load_references as load_references, load_run as load_run
    from wayscore.formats.episodes import Query as Query, Reference as Reference, References as References, Run as Run
    from wayscore.lab.audit.audit import audit as audit
    from wayscore.metrics import METRICS as METRICS, Episode as Episode, Metric as Metric
    from wayscore.paths import PathBatch as PathBatch
    from wayscore.rewards.finetuning import PathReward as PathReward
    from wayscore.rewards.rewards import FidelityReward as FidelityReward, GoalReward as GoalReward, Reward as Reward
    from wayscore.rewards.wrapper import FidelityWrapper as FidelityWrapper
    from wayscore.warping.alignment import (
        Alignment as Alignment,
        align as align,
        dtw as dtw,
        fast_dtw as fast_dtw,
        ndtw as ndtw,
        sdtw as sdtw,
    )
    from wayscore.warping.running import RunningBatch as RunningBatch, RunningDTW as RunningDTW
    from wayscore.worlds import World as World


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'wayscore' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"wayscore.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
