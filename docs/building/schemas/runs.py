"""Types of what `wayscore score`, `baseline` and `compare` print as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Value = float | None
"""A fraction (not percent) or metres; null where it is undefined."""
Cluster = Literal["auto", "none", "path", "scan"]
SignatureText = Annotated[str, Meta(pattern=r"^wayscore\|")]


class Interval(Struct, forbid_unknown_fields=True):
    """A mean with its 95 % bootstrap interval; fractions (not percent) and metres, null where it is undefined."""

    mean: Value
    low: Value
    high: Value


class MetricMean(Interval, forbid_unknown_fields=True):
    """The mean of a metric.

    Attributes:
        spread: the standard deviation of the mean over the runs of one agent; only where it has several.
    """

    spread: Value | UnsetType = UNSET


class GroupMean(Struct, forbid_unknown_fields=True):
    """The mean of a metric over a group of episodes, null where it is undefined."""

    mean: Value


class Group(Struct, forbid_unknown_fields=True):
    """The means over a group of episodes.

    Attributes:
        episodes: how many they are.
        undefined: by metric, how many of them are left out of its mean.
        metrics: by symbol.
    """

    episodes: Count
    undefined: dict[str, Count]
    metrics: dict[str, GroupMean]


class Bootstrap(Struct, forbid_unknown_fields=True):
    """What the intervals depend on.

    Attributes:
        resamples: how often the bootstrap draws; 0 for random walks, whose intervals are normal ones.
        seed: of its random generator.
        cluster: what it draws: single episodes (none), paths or scans.
        clusters: how many of these there are.
    """

    resamples: Count
    seed: Count
    cluster: Cluster
    clusters: Count


class Score(Struct, forbid_unknown_fields=True):
    """The scores of one run: one line of `--format json` of `wayscore score` and `wayscore baseline`.

    Attributes:
        run: its name.
        signature: everything that the numbers depend on.
        convention: the choices that were made, by name.
        threshold: the success threshold d_th; null if the scores come from another evaluator.
        episodes: how many episodes the means are over.
        missing: how many references have no prediction.
        unknown: how many predictions are for episodes that the references do not have.
        undefined: by metric, how many episodes are left out of its mean.
        warnings: what a reader must know before believing the numbers.
        metrics: by symbol.
        bootstrap: what the intervals depend on.
        runs: how many runs of one agent these are; only where there are several.
        split_by: how the groups are made; only with --split-by.
        groups: by name; only with --split-by.
    """

    run: str
    signature: SignatureText
    convention: str
    threshold: Annotated[float, Meta(gt=0)] | None
    episodes: Count
    missing: Count
    unknown: Count
    undefined: dict[str, Count]
    warnings: list[str]
    metrics: dict[str, MetricMean]
    bootstrap: Bootstrap
    runs: Annotated[int, Meta(ge=2)] | UnsetType = UNSET
    split_by: Literal["scan", "length", "path"] | UnsetType = UNSET
    groups: dict[str, Group] | UnsetType = UNSET


class Test(Struct, forbid_unknown_fields=True):
    """One metric of one run against the baseline.

    Attributes:
        run: the run.
        metric: its symbol.
        episodes: in how many episodes it is defined for both.
        difference: run minus baseline.
        p: two-sided p-value, null where nothing can be tested.
        p_holm: the same after Holm's correction over all tests of the comparison.
        wins: in how many episodes the run is better; null where the metric has no better direction.
        ties: in how many both are equal.
        losses: in how many the baseline is better.
        superiority: the chance that the run is better in an episode, ties counting half.
        effect_size: d_z, null where it is infinite or undefined.
    """

    run: str
    metric: str
    episodes: Count
    difference: Interval
    p: Share | None
    p_holm: Share | None
    wins: Count | None
    ties: Count | None
    losses: Count | None
    superiority: Share | None
    effect_size: Value


class Example(Struct, forbid_unknown_fields=True):
    """An episode in which a run and the baseline differ.

    Attributes:
        episode: its name.
        scene: where it lies; empty if that is not known.
        baseline: the score of the baseline, null where it is undefined.
        run: the score of the run, likewise.
    """

    episode: str
    scene: str
    baseline: Value
    run: Value


class DifferMost(Struct, forbid_unknown_fields=True):
    """The episodes in which runs differ most from the baseline.

    Attributes:
        metric: by which they are chosen.
        better: by run, where it is better than the baseline.
        worse: by run, where it is worse.
    """

    metric: str
    better: dict[str, list[Example]]
    worse: dict[str, list[Example]]


class Comparison(Struct, forbid_unknown_fields=True):
    """Runs on the episodes that they share: what `wayscore compare --format json` prints.

    Attributes:
        references: the name of the ground-truth paths.
        episodes: how many episodes all runs share.
        left_out: how many references are not among them.
        baseline: the run that the others are tested against.
        cluster: what the resampling draws.
        seed: of its random generator.
        resamples: how often it draws.
        runs: the scores of all runs on the shared episodes.
        tests: one for each other run and metric.
        differ_most: where the runs differ most.
        warnings: what a reader must know before believing the numbers.
    """

    references: str
    episodes: Count
    left_out: Count
    baseline: str
    cluster: Cluster
    seed: Count
    resamples: Annotated[int, Meta(ge=1)]
    runs: Annotated[list[Score], Meta(min_length=2)]
    tests: list[Test]
    differ_most: DifferMost
    warnings: list[str]
