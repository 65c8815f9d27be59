"""`wayscore compare`: two or more runs on the same episodes, with intervals and paired tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wayscore.cli.score import (
    ClusterOption,
    ConventionOption,
    DuplicateOption,
    FormatOption,
    GraphsOption,
    MetricsOption,
    MissingOption,
    MoveOption,
    NodeOption,
    ReferencesOption,
    ResampleOption,
    ResamplesOption,
    SeedOption,
    StartOption,
    ThresholdOption,
    UnknownOption,
    progress_bar,
    sampled,
    show,
    warn,
)


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result files, two or more.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
    convention: ConventionOption = "paper",
    threshold: ThresholdOption = None,
    resample: ResampleOption = None,
    metrics: MetricsOption = None,
    baseline: Annotated[
        str | None, typer.Option(help="What the others are tested against: a run's name or number; the first.")
    ] = None,
    missing: MissingOption = None,
    unknown: UnknownOption = None,
    duplicate: DuplicateOption = None,
    start: StartOption = None,
    move: MoveOption = None,
    node: NodeOption = None,
    cluster: ClusterOption = "none",
    top: Annotated[int, typer.Option(help="How many episodes that differ most to show, each way.")] = 5,
    form: FormatOption = "text",
    seed: SeedOption = 0,
    resamples: ResamplesOption = 10_000,
) -> None:
    """Compare runs on the episodes they share: intervals, paired tests, wins and losses, where they differ most.

    Differences have paired-bootstrap intervals; p-values come from a paired randomization test and are corrected
    after Holm over all metrics and runs.

    Example: wayscore compare old.json new.json --references R2R_val_unseen.json --graphs connectivity/

    Args:
        runs: result files, two or more.
        references: what was asked for.
        graphs: connectivity files; not needed for paths of coordinates.
        convention: the set of choices to score by; `wayscore conventions` lists them.
        threshold: success threshold, in the units of the distance.
        resample: DTW, nDTW and SDTW warp paths of coordinates sampled anew at this step: nDTW depends on density.
        metrics: symbols separated by commas; the first ranks the episodes that differ (nDTW by default).
        baseline: the run that the others are tested against: its name, its file or its number from 1 on.
        missing: what to do with references that a run does not answer.
        unknown: what to do with answers to no reference.
        duplicate: what to do with episodes that are answered twice.
        start: what to do with queries that begin elsewhere than their reference.
        move: what to do with queries that take a step that is no edge.
        node: what to do with queries that visit a place which their scene does not have.
        cluster: what is resampled: single episodes, or all those of a path or a scan together.
        top: how many of the episodes that differ most to show, each way.
        form: text, json, markdown or latex.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
    """
    from wayscore.report import compare_runs, render_comparison
    from wayscore.report.render import check_form

    check_form(form)
    with progress_bar(4 * len(runs) - 1) as progress:
        comparison = compare_runs(
            runs,
            references,
            graphs=graphs,
            convention=sampled(convention, resample),
            threshold=threshold,
            metrics=metrics,
            baseline=baseline,
            cluster=cluster,
            top=top,
            seed=seed,
            resamples=resamples,
            progress=progress,
            missing=missing,
            unknown=unknown,
            duplicate=duplicate,
            start=start,
            move=move,
            node=node,
        )
    show(lambda width, color: render_comparison(comparison, form, width=width, color=color))
    if form == "json":  # the other forms say so themselves
        warn(comparison.warnings)
