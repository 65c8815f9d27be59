"""What people give to an evaluation: settings, checked once; runs, references and graphs in every form, read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from wayscore.convention.choices import CHOICES, Convention
from wayscore.convention.presets import find_convention
from wayscore.errors import OptionError, check_choice, check_count, check_threshold
from wayscore.evaluation.groups import CLUSTERS
from wayscore.evaluation.policies import choose_policies
from wayscore.evaluation.scorer import Distances, Scorer
from wayscore.formats import load_references
from wayscore.formats.base import Source
from wayscore.formats.benchmarks import distances_for
from wayscore.formats.chunks import RunPlan, plan_run
from wayscore.formats.episodes import EpisodeBatch, Query, References, Run
from wayscore.metrics import Metric, find_metrics
from wayscore.statistics.bootstrap import MOST_RESAMPLES


class Settings(Struct, frozen=True):
    """How the answers of a run are scored, checked: what `evaluate` takes under the same names."""

    convention: Convention
    threshold: float
    metrics: tuple[Metric, ...]
    policies: Mapping[str, str]
    cluster: str
    resamples: int
    seed: int

    @classmethod
    def make(
        cls,
        *,
        convention: str | Path | Convention | None = None,
        threshold: float | None = None,
        metrics: Iterable[str | Metric] | str | None = None,
        policies: Mapping[str, str | None] | None = None,
        repeats: str | None = None,
        path_step: float | None = None,
        cluster: str = "auto",
        resamples: int = 10_000,
        seed: int = 0,
    ) -> Settings:
        """Check what a caller gives; what is not given is the convention's."""
        chosen = find_convention(convention)
        if repeats is not None:
            check_choice("repeats", repeats, CHOICES["repeats"])
            chosen = replace(chosen, repeats=repeats)  # type: ignore[arg-type]
        if path_step is not None:
            chosen = replace(chosen, path_step=path_step * 1.0)  # 1 and 1.0 sign alike
        d_th = chosen.threshold if threshold is None else threshold
        check_threshold(d_th)
        check_choice("cluster", cluster, CLUSTERS)
        check_count("seed", seed, least=0)
        check_count("resamples", resamples, most=MOST_RESAMPLES)
        return cls(
            chosen,
            float(d_th),
            find_metrics(metrics, chosen),
            choose_policies(policies or {}, chosen),
            cluster,
            resamples,
            seed,
        )


class GivenRun(Struct, frozen=True, eq=False):
    """A run that is in memory already."""

    name: str
    format: str
    batch: EpisodeBatch

    @property
    def rows(self) -> int:
        """How many answers there are."""
        return len(self.batch)

    def batches(self, _faults: Any = None) -> list[EpisodeBatch]:
        """Return all answers; whatever is wrong with them was said when they were made."""
        return [self.batch]


class Inputs(Struct, frozen=True, eq=False):
    """Where the paths of a result are, for pictures and comparisons.

    Attributes:
        run: the answers.
        references: the ground-truth paths; None where rows carry them.
        distances: scene -> distance, one for all scenes, or None for straight lines.
        convention: by which they were scored.
    """

    run: RunPlan | GivenRun
    references: References | None
    distances: Distances
    convention: Convention

    def queries(self, wanted: Callable[[str], bool] | None = None) -> dict[str, Query]:
        """Read the run again: by episode, the first answer to each that is wanted."""
        found: dict[str, Query] = {}
        for batch in self.run.batches():
            for query in batch.to_queries():
                if query.episode not in found and (wanted is None or wanted(query.episode)):
                    found[query.episode] = query
        return found


class Prepared(Struct, eq=False):
    """References and graphs that are encoded once for all runs which are scored against them.

    Attributes:
        references: the ground-truth paths; None where rows carry their own.
        graphs: in any form that `evaluate` takes.
    """

    references: References | None
    graphs: Any
    _scorers: dict[tuple[Any, ...], Scorer] = {}

    def scorer(
        self,
        convention: Convention,
        cluster: str = "none",
        several: bool = False,
        navmesh: Any = None,
        walkable: bool = False,
    ) -> Scorer:
        """Return what runs are scored against by these choices; the same value for the same choices."""
        meshes = os.fspath(navmesh) if isinstance(navmesh, str | os.PathLike) else id(navmesh)  # a mapping is kept
        wanted = convention, cluster, several, meshes, walkable
        if wanted not in self._scorers:
            geodesics = None
            if navmesh is not None or walkable:
                from wayscore.evaluation.goals import find_geodesics

                geodesics = find_geodesics(navmesh, walkable, self.references)
            distances = distances_for(self.references, self.graphs, convention)
            self._scorers[wanted] = Scorer(self.references, distances, convention, cluster, several, geodesics)
        return self._scorers[wanted]


def find_run(
    run: Any, run_format: str | None = None, progress: Callable[[str], None] | None = None
) -> RunPlan | GivenRun:
    """Take a run in any form: files, a `Run`, paths by episode, an Arrow table or a data frame."""
    if isinstance(run, str | os.PathLike):
        return plan_run(run, run_format, progress)
    if isinstance(run, Mapping):
        run = Run.from_paths(run)
    if isinstance(run, Run):
        return GivenRun(run.name, run.format, EpisodeBatch.from_queries(run.answers))
    if isinstance(run, Sequence) and run and all(isinstance(one, str | os.PathLike) for one in run):
        return plan_run(run, run_format, progress)
    from wayscore.formats.arrow import as_arrow, from_arrow

    table = as_arrow(run)
    return GivenRun("table", "table", from_arrow(table, Source(Path("the table"), b"")))


def find_references(
    references: References | str | os.PathLike[str] | None, reader: Mapping[str, Any] | None = None
) -> References | None:
    """Take references in any form."""
    if references is None or isinstance(references, References):
        return references
    if not isinstance(references, str | os.PathLike):
        raise OptionError(
            f"references must be a file or what ws.load_references returned, not a {type(references).__name__}"
        )
    return load_references(references, **(reader or {}))
