"""audit: put metrics to the test, by changing episodes or on the runs of real systems."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from wayscore.convention.choices import Convention
from wayscore.errors import OptionError, listed
from wayscore.evaluation.inputs import Settings, find_references
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.episodes import References
from wayscore.lab.audit.battery.battery import Battery, run_battery
from wayscore.lab.audit.battery.cases import from_references, from_worlds
from wayscore.lab.audit.battery.experiments import find_experiments
from wayscore.lab.audit.systems.systems import Progress, Systems, audit_systems
from wayscore.metrics import METRICS, Metric

DEFAULT = (*METRICS, "PC")
"""The paper's metrics, and the factor of CLS that it makes a claim about."""
WORLDS, PATHS_OF_A_WORLD, PATHS = 40, 5, 200
"""How many generated worlds, paths in each of them, and paths of references."""

Metrics = Iterable[str | Metric] | str | None


@overload
def audit(metrics: Metrics = None, *, runs: None = None, **settings: Any) -> Battery: ...
@overload
def audit(metrics: Metrics = None, *, runs: Sequence[Any], **settings: Any) -> Systems: ...
def audit(
    metrics: Metrics = None,
    *,
    runs: Sequence[Any] | None = None,
    names: Sequence[str | None] | None = None,
    references: References | str | os.PathLike[str] | None = None,
    graphs: Any = None,
    experiments: Iterable[str] | None = None,
    worlds: int | None = None,
    paths: int | None = None,
    difference: float | None = None,
    convention: str | Path | Convention | None = None,
    threshold: float | None = None,
    repeats: str | None = None,
    path_step: float | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Battery | Systems:
    """Test claims about metrics, also your own.

    Without runs, episodes are changed step by step (their density, their order, detours, near misses, ...), and the
    result says how each metric responds, and which claims of the paper hold. It takes place in generated worlds, or on
    the paths of `references`. With the runs of several systems, the result says how far metrics agree about them, how
    stable their rankings are, how well they tell systems apart, and which of them are redundant.

    Args:
        metrics: which metrics, as symbols or `Metric` values; all of the paper's by default.
        runs: runs, results or saved results of two systems or more, as `ws.compare` takes them.
        names: what to call each run; entries of one name are several runs of one system.
        references: ground-truth paths: of the runs, or for experiments on real paths.
        graphs: connectivity files, or scene -> distance.
        experiments: names of experiments (see `wayscore.lab.audit.battery.experiments`); all by default.
        worlds: the number of generated worlds, 40 by default.
        paths: the number of paths: in each world (5 by default), or of the references (200, drawn at random).
        difference: with runs, the difference for which needed episodes are computed, as a share of the metric's scale
            (its bounds, or d_th): 0.02 by default, two percentage points.
        convention: the set of choices to score by; "paper" by default.
        threshold: success threshold d_th; the convention's by default, in generated worlds 1.33 mean edges.
        repeats: "drop" nodes that repeat the one before, or "keep" them; the convention's by default.
        path_step: DTW, nDTW and SDTW compare coordinates resampled at this step, metres.
        resamples: how often the bootstrap draws.
        seed: random seed.
        reader: settings of the references' reader.
        progress: called with what is going on, how many steps are done, and of how many.
        **options: with runs, further ones of `ws.evaluate`: policies, run_format, ...

    Returns:
        A `Battery` of experiments; with runs, `Systems`. Both print as tables, and have `to_json()` and `figure()`.

    >>> found = audit("nDTW,SED", experiments=["near-miss"], worlds=4)
    >>> [(one.metric, one.verdict.word) for one in found.responses]
    [('nDTW', 'falls'), ('SED', 'jumps down')]
    """
    scoring: dict[str, Any] = {
        "convention": convention,
        "threshold": threshold,
        "repeats": repeats,
        "path_step": path_step,
    }
    shared: dict[str, Any] = {"resamples": resamples, "seed": seed, "progress": progress}
    if runs is not None:
        where = {"experiments": experiments, "worlds": worlds, "paths": paths}
        _refuse(where, "changes episodes, and runs are taken as they are; leave it out")
        given = {"names": names, "metrics": metrics, "reader": reader, **shared, **scoring, **options}
        if difference is not None:
            given["difference"] = difference
        return audit_systems(runs, references, graphs, **given)
    _refuse({"names": names, "difference": difference, **options}, "goes with the runs of systems; give <<runs>>")
    settings = Settings.make(metrics=DEFAULT if metrics is None else metrics, resamples=resamples, seed=seed, **scoring)
    wanted = find_experiments(experiments)
    known = find_references(references, reader)
    if known is None:
        if graphs is not None:
            raise OptionError("<<graphs>> goes with <<references=FILE>>, whose paths are changed; give these too")
        cases = from_worlds(worlds or WORLDS, paths or PATHS_OF_A_WORLD, seed, threshold=threshold)
    else:
        _refuse({"worlds": worlds}, "goes without references: these have their own graphs")
        distances = distances_for(known, graphs, settings.convention)
        cases = from_references(known, distances, threshold=settings.threshold, paths=paths or PATHS, seed=seed)
    return run_battery(cases, settings.metrics, wanted, convention=settings.convention, **shared)


def _refuse(given: Mapping[str, Any], reason: str) -> None:
    """Refuse settings that would change nothing."""
    if wrong := [f"<<{name}>>" for name, value in given.items() if value is not None]:
        raise OptionError(f"{listed(wrong)} {reason}")
