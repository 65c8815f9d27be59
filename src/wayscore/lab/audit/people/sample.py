"""What is correlated: metrics and judgements of the same paths, from rated walks or from the answers to a study."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from wayscore.distances.base import Distance
from wayscore.distances.graphs import load_graphs
from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.score import score
from wayscore.lab.audit.people.rated import RatedWalks
from wayscore.lab.study.correlations import goodness, higher_is_better
from wayscore.lab.study.files import read_study
from wayscore.lab.study.model import QUERIES
from wayscore.lab.study.rankings import read_rankings
from wayscore.statistics.bootstrap import Floats, number_labels

File: TypeAlias = str | os.PathLike[str]
GraphSource: TypeAlias = File | Mapping[str, Distance]
"""Connectivity files, or scene -> distance."""
REPRODUCED = 1e-6
"""Values that a file records are reproduced if they differ by less than this."""
RANKING = "ranking"
STUDY_NOTES = (
    "Raters looked at maps of both paths, and judged which one they would rather have a robot take.",
    "Each correlation is over the paths of one ranking, and the mean over rankings is given; it is 0 for a metric that "
    "ties all paths.",
)


class Facts(Struct, frozen=True, kw_only=True):
    """What a sample and its audit say about the judgements."""

    name: str  # of the dataset
    rating: str
    meaning: str  # who judged what
    unit: str  # what has one judgement: "walk", "game", or "ranking" (of several paths)
    cluster: str  # the label of what is resampled
    within: str = ""  # the label of groups inside which units are correlated; empty if all are correlated together
    left_out: list[str] = []  # the walks without this rating
    walks: int  # how many walks the file has
    recorded: list[str] = []  # the metrics of which the file has its own values
    different: list[str] = []  # walks with a recorded value that is not reproduced to 1e-6
    threshold: float  # d_th, metres
    simulated: bool = False  # whether judgements are simulated: no person gave them
    notes: tuple[str, ...]  # what the judgements cannot show


class Sample(Facts, frozen=True, kw_only=True):
    """Metrics and judgements, one value of each per unit."""

    columns: dict[str, Floats]  # metric -> values, higher is better
    outcome: Floats  # the judgements, higher is better as far as the rating's meaning says so
    clusters: list[str]
    groups: list[str]


def sample_walks(
    rated: RatedWalks,
    graphs: GraphSource | None,
    *,
    metrics: Sequence[str],
    threshold: float,
    rating: str | None = None,
    cluster: str | None = None,
    within: str | None = None,
) -> Sample:
    """Measure rated walks; `rating`, `cluster` and `within` are names that the data has.

    Where one rating is about several walks (a game), their metrics are averaged.
    """
    labels = rated.walks[0].labels
    rating = _known("rating", rating or next(iter(rated.meanings)), rated.meanings)
    if within and cluster:
        raise OptionError("<<within>> resamples its own groups; give either <<within>> or <<cluster>>")
    cluster = _known("within" if within else "cluster", within or cluster or rated.cluster, labels)
    if graphs is None:
        raise OptionError(
            f"{rated.name}: paths are node names, so distances need the graphs; give the connectivity files (a folder "
            "or a tar) with <<graphs=FOLDER>>"
        )
    paths: dict[str, Any] = {
        "references": [walk.reference for walk in rated.walks],
        "queries": [walk.query for walk in rated.walks],
        "scenes": [walk.scene for walk in rated.walks],
        "episodes": [walk.name for walk in rated.walks],
        "distance": graphs if isinstance(graphs, Mapping) else load_graphs(Path(graphs)),
        "threshold": threshold,
    }
    recorded = list(rated.walks[0].recorded)
    found = score(metrics=recorded or ["NE"], **paths)
    different = [
        walk.name
        for number, walk in enumerate(rated.walks)
        if any(abs(found[metric][number] - value) > REPRODUCED for metric, value in walk.recorded.items())
    ]
    rows = [number for number, walk in enumerate(rated.walks) if rating in walk.ratings]
    walks = [rated.walks[row] for row in rows]
    if not walks:
        raise OptionError(f"{rated.name}: no walk has the rating {rating!r}")
    units = number_labels(walk.labels[rated.unit] if rated.unit else walk.name for walk in walks)
    one_each = [walks[number] for number in np.unique(units, return_index=True)[1]]
    columns = higher_is_better(metrics, **paths)
    return Sample(
        name=rated.name,
        rating=rating,
        meaning=rated.meanings[rating],
        unit=rated.unit or "walk",
        columns={metric: np.bincount(units, column[rows]) / np.bincount(units) for metric, column in columns.items()},
        outcome=np.array([walk.ratings[rating] for walk in one_each]),
        cluster=cluster,
        clusters=[walk.labels[cluster] for walk in one_each],
        within=within or "",
        groups=[walk.labels[within] for walk in one_each] if within else [],
        left_out=[walk.name for walk in rated.walks if rating not in walk.ratings],
        walks=len(rated.walks),
        recorded=recorded,
        different=different,
        threshold=threshold,
        notes=rated.notes,
    )


def sample_study(file: File, answers: File, *, metrics: Sequence[str], cluster: str | None = None) -> Sample:
    """Measure the paths of a study's plain sets, beside the answers that `wayscore study export` wrote."""
    study = read_study(file)
    plain = {one.name: number for number, one in enumerate(study.of_kind("plain"))}
    rankings = [ranking for ranking in read_rankings(answers, study) if ranking.set in plain]
    if not rankings:
        raise OptionError(f"{answers}: ranks no plain set (repeats and checks do not count); collect answers first")
    cluster = _known("cluster", cluster or "set", ("set", "rater"))
    scores = goodness(study, study.of_kind("plain"), metrics)[[plain[ranking.set] for ranking in rankings]]
    flat = scores.reshape(-1, len(metrics)).T
    return Sample(
        name=study.name,
        rating="rank",
        meaning=f'raters on "{study.question}"',
        unit=RANKING,
        columns=dict(zip(metrics, flat, strict=True)),
        outcome=-np.array([ranking.ranks() for ranking in rankings]).ravel(),
        cluster=cluster,
        clusters=[getattr(ranking, cluster) for ranking in rankings for _ in range(QUERIES)],
        within=RANKING,
        groups=[str(number) for number in range(len(rankings)) for _ in range(QUERIES)],
        walks=len(rankings) * QUERIES,
        threshold=study.threshold,
        simulated=any(ranking.simulated for ranking in rankings),
        notes=STUDY_NOTES,
    )


def _known(option: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name not in names:
        raise OptionError(f"<<{option}>> must be {' or '.join(names)}, not {name!r}{did_you_mean(name, names)}")
    return name
