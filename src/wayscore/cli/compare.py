"""`wayscore compare`: two or more runs on the same episodes, with intervals and paired tests."""

from __future__ import annotations

from typing import Annotated

import typer

from wayscore.cli.score import (
    ClusterOption,
    ConventionOption,
    DuplicateOption,
    FormatOption,
    GraphsOption,
    HtmlOption,
    MaybeReferencesOption,
    MetricsOption,
    MissingOption,
    MoveOption,
    NodeOption,
    ReaderOption,
    ResampleOption,
    ResamplesOption,
    SeedOption,
    StartOption,
    ThresholdOption,
    UnknownOption,
    progress_bar,
    reader_settings,
    sampled,
    show,
    warn,
)
from wayscore.cli.streamed import (
    ChunkOption,
    EngineOption,
    SchedulerOption,
    WorkersOption,
    compare_streamed,
    is_stream,
)


def compare(
    runs: Annotated[list[str], typer.Argument(help="Result files, two or more.", show_default=False)],
    references: MaybeReferencesOption = None,
    graphs: GraphsOption = None,
    reader: ReaderOption = None,
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
    html: HtmlOption = None,
    seed: SeedOption = 0,
    resamples: ResamplesOption = 10_000,
    workers: WorkersOption = None,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    chunk: ChunkOption = 65_536,
) -> None:
    """Compare runs on the episodes they share: intervals, paired tests, wins and losses, where they differ most.

    Differences have paired-bootstrap intervals; p-values come from a paired randomization test and are corrected
    after Holm over all metrics and runs.

    Example: wayscore compare old.json new.json --references R2R_val_unseen.json --graphs connectivity/

    Tables of any size are streamed, as by `wayscore score`; they must have the same episodes in the same order.

    Args:
        runs: result files, two or more.
        references: what was asked for; not needed where the rows of a table carry a scene and a reference.
        graphs: connectivity files; not needed for paths of coordinates.
        reader: settings of the references' reader, each as name=value; can be given several times.
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
        html: where to write a page for a browser, one file that needs no network.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
        workers: stream on so many processes.
        engine: who streams: local processes, or a dask cluster.
        scheduler: the address of that cluster.
        chunk: rows in a worker's memory at a time, when streaming.
    """
    from wayscore.formats import load_references
    from wayscore.report import compare_runs, render_comparison
    from wayscore.report.render import check_form

    check_form(form)
    asked = None if references is None else load_references(references, **reader_settings(reader))
    rules = sampled(convention, resample)
    policies = {
        "missing": missing,
        "unknown": unknown,
        "duplicate": duplicate,
        "start": start,
        "move": move,
        "node": node,
    }
    streams = workers is not None or engine != "local" or duplicate == "all"
    if asked is None or any(is_stream(run, asked, streams) for run in runs):
        comparison = compare_streamed(
            runs,
            references=asked,
            graphs=graphs,
            convention=rules,
            threshold=threshold,
            metrics=metrics,
            baseline=baseline,
            policies=policies,
            cluster=cluster,
            top=top,
            workers=workers,
            engine=engine,
            scheduler=scheduler,
            rows=chunk,
            seed=seed,
            resamples=resamples,
            refused={"--html": html},
        )
        show(lambda width, color: render_comparison(comparison, form, width=width, color=color))
        warn(comparison.warnings if form == "json" else ())
        return
    with progress_bar(4 * len(runs) - 1) as progress:
        comparison = compare_runs(
            runs,
            asked,
            graphs=graphs,
            convention=rules,
            threshold=threshold,
            metrics=metrics,
            baseline=baseline,
            cluster=cluster,
            top=top,
            seed=seed,
            resamples=resamples,
            progress=progress,
            **policies,
        )
    if html is not None:
        from wayscore.formats.graphs import distances_for
        from wayscore.report import write_page

        distance = distances_for(asked, graphs, rules)
        write_page(html, comparison.scored, comparison.summaries, asked, distance, comparison=comparison)
    show(lambda width, color: render_comparison(comparison, form, width=width, color=color))
    if form == "json":  # the other forms say so themselves
        warn(comparison.warnings)
