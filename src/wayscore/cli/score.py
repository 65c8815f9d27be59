"""`wayscore score`: result files in, means with intervals and a signature out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.cli.streamed import (
    ChunkOption,
    EngineOption,
    ResumeOption,
    SchedulerOption,
    WorkersOption,
    is_stream,
    score_streams,
)
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.scoring.table import ScoreTable

ReferencesOption = Annotated[
    Path, typer.Option("--references", "-r", help="What was asked for: R2R, R4R, RxR, NDH, ...")
]
MaybeReferencesOption = Annotated[
    Path | None,
    typer.Option("--references", "-r", help="What was asked for: R2R, R4R, RxR, NDH, ...; rows may carry their own."),
]
GraphsOption = Annotated[
    Path | None, typer.Option("--graphs", "-g", help="Connectivity files: a folder or a tar of them.")
]
ConventionOption = Annotated[str, typer.Option(help="The choices to score by: a name, or your own .toml file.")]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option(help="A setting of the references' reader, such as objects=FILE or path_type=player."),
]
ThresholdOption = Annotated[float | None, typer.Option(help="Success threshold; the convention's by default.")]
ResampleOption = Annotated[
    float | None, typer.Option(help="Warp coordinates sampled anew, a place every so many metres, such as 0.25.")
]
MetricsOption = Annotated[
    str | None, typer.Option(help="Which metrics, for example nDTW,SDTW; by default the convention's.")
]
MissingOption = Annotated[str | None, typer.Option(help="References without an answer: error, skip or zero.")]
UnknownOption = Annotated[str | None, typer.Option(help="Answers to no reference: error or skip.")]
DuplicateOption = Annotated[
    str | None, typer.Option(help="Episodes answered twice: error, keep the first, or score all.")
]
StartOption = Annotated[str | None, typer.Option(help="Queries that begin elsewhere: error, keep, skip or zero.")]
MoveOption = Annotated[str | None, typer.Option(help="Steps that are no edges: keep, error, skip or zero.")]
NodeOption = Annotated[str | None, typer.Option(help="Unknown places: error, skip or zero.")]
ClusterOption = Annotated[str, typer.Option(help="Resample single episodes (none), or all of a path or a scan.")]
FormatOption = Annotated[str, typer.Option("--format", "-f", help="text, json, markdown or latex.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Write a page too: tables, figures, and every episode to browse.")
]
SeedOption = Annotated[int, typer.Option(help="Of all resampling.")]
ResamplesOption = Annotated[int, typer.Option(help="How often to resample.")]


def score(
    runs: Annotated[list[str], typer.Argument(help="Result files, one for each agent.", show_default=False)],
    references: MaybeReferencesOption = None,
    graphs: GraphsOption = None,
    reader: ReaderOption = None,
    convention: ConventionOption = "paper",
    threshold: ThresholdOption = None,
    resample: ResampleOption = None,
    metrics: MetricsOption = None,
    missing: MissingOption = None,
    unknown: UnknownOption = None,
    duplicate: DuplicateOption = None,
    start: StartOption = None,
    move: MoveOption = None,
    node: NodeOption = None,
    split_by: Annotated[str | None, typer.Option(help="Means of groups too: by scan, length or path.")] = None,
    cluster: ClusterOption = "none",
    form: FormatOption = "text",
    episodes: Annotated[str | None, typer.Option(help="Write a row an episode: .parquet, .csv or .jsonl.")] = None,
    html: HtmlOption = None,
    seed: SeedOption = 0,
    resamples: ResamplesOption = 10_000,
    workers: WorkersOption = None,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    resume: ResumeOption = False,
    chunk: ChunkOption = 65_536,
) -> None:
    """Score runs against references and print means with 95 % intervals and a signature.

    Files may be gzipped and graphs may stay in their tar; no simulator is needed.

    Example: wayscore score results.json --references R2R_val_unseen.json --graphs connectivity/

    Tables of any size (Parquet, JSONL; a folder, a quoted pattern or an address is one run) are streamed in little
    memory on all cores, or on a Dask cluster.

    Example: wayscore score "rollouts/*.parquet" -r R2R_train.json -g connectivity/ --duplicate all --workers 8

    Args:
        runs: result files, one for each agent.
        references: what was asked for; not needed where the rows of a table carry a scene and a reference.
        graphs: connectivity files; not needed for paths of coordinates.
        reader: settings of the references' reader, each as name=value; can be given several times.
        convention: the set of choices to score by; `wayscore conventions` lists them.
        threshold: success threshold, in the units of the distance.
        resample: DTW, nDTW and SDTW warp paths of coordinates sampled anew at this step: nDTW depends on density.
        metrics: symbols separated by commas.
        missing: what to do with references that a run does not answer.
        unknown: what to do with answers to no reference.
        duplicate: what to do with episodes that are answered twice.
        start: what to do with queries that begin elsewhere than their reference.
        move: what to do with queries that take a step that is no edge.
        node: what to do with queries that visit a place which their scene does not have.
        split_by: scan, length (the number of nodes of the reference) or path: means of each group are printed too.
        cluster: what the bootstrap draws: single episodes, or all those of a path or a scan together.
        form: text, json, markdown or latex.
        episodes: where to write a row an episode; with several runs the run's name is added.
        html: where to write a page for a browser, one file that needs no network.
        seed: of the bootstrap.
        resamples: of the bootstrap.
        workers: stream on so many processes.
        engine: who streams: local processes, or a dask cluster.
        scheduler: the address of that cluster.
        resume: keep what an interrupted run finished of the file of episodes.
        chunk: rows in a worker's memory at a time, when streaming.
    """
    from wayscore.evaluation.groups import clusters_of, few_clusters
    from wayscore.formats import load_references
    from wayscore.report import differences, partition, render, score_runs, summarize
    from wayscore.report.render import check_form

    check_form(form)
    asked = None if references is None else load_references(references, **reader_settings(reader))
    policies = {
        "missing": missing,
        "unknown": unknown,
        "duplicate": duplicate,
        "start": start,
        "move": move,
        "node": node,
    }
    streams = workers is not None or engine != "local" or resume or duplicate == "all"
    if asked is None or any(is_stream(run, asked, streams) for run in runs):
        summaries = score_streams(
            runs,
            references=asked,
            graphs=graphs,
            convention=sampled(convention, resample),
            threshold=threshold,
            metrics=metrics,
            policies=policies,
            cluster=cluster,
            episodes=episodes,
            resume=resume,
            workers=workers,
            engine=engine,
            scheduler=scheduler,
            rows=chunk,
            seed=seed,
            resamples=resamples,
            refused={"--html": html, "--split-by": split_by},
        )
        show(lambda width, color: render(summaries, form, width=width, color=color))
        told = [] if cluster == "none" else [range(summary.bootstrap["units"]) for summary in summaries]
        warn([few for units in told for few in few_clusters(cluster, list(map(str, units)))])
        warn(differences(summaries) if form == "json" else [])
        return
    groups = None if split_by is None else partition(asked.episodes.values(), split_by)
    clusters = clusters_of(asked.episodes.values(), cluster)
    summaries = []
    warnings: list[str] = []
    with progress_bar(3 * len(runs) if len(runs) > 1 else 0) as progress:
        scored = score_runs(
            runs,
            asked,
            graphs=graphs,
            convention=sampled(convention, resample),
            threshold=threshold,
            metrics=metrics,
            policies=policies,
            progress=progress,
        )
        for run in scored:
            progress(f"resampling {run.name}")
            summary = summarize(
                run.table, run.joined, rng=seed, resamples=resamples, name=run.name, clusters=clusters, groups=groups
            )
            summaries.append(summary)
            if clusters is not None:
                warnings += few_clusters(cluster, clusters.of(run.table))
    if episodes is not None:
        for run in scored:
            name = run.name.replace("/", "-")
            target = Path(episodes)
            write_episodes(run.table, target if len(runs) == 1 else target.with_stem(f"{target.stem}-{name}"))
    if html is not None:
        from wayscore.formats.graphs import distances_for
        from wayscore.report import write_page

        write_page(html, scored, summaries, asked, distances_for(asked, graphs, sampled(convention, resample)))
    show(lambda width, color: render(summaries, form, width=width, color=color))
    if form == "json":  # the other forms say so themselves
        warnings += differences(summaries)
    warn(warnings)


def sampled(convention: str, step: float | None) -> str | Convention:
    """Return the convention with the step at which paths are sampled anew, if one is given."""
    from dataclasses import replace

    from wayscore.convention.presets import find_convention

    return convention if step is None else replace(find_convention(convention), resample=step)


def reader_settings(given: list[str] | None) -> dict[str, str]:
    """Return name=value settings by name.

    >>> reader_settings(["path_type=player"])
    {'path_type': 'player'}
    """
    for setting in given or ():
        if "=" not in setting:
            raise OptionError(f"--reader takes name=value, such as path_type=player; got {setting!r}")
    return {name: value for name, _, value in (setting.partition("=") for setting in given or ())}


def show(render: Callable[[int, bool], str]) -> None:
    """Print a result as wide as the terminal, and in colours if it is one."""
    import shutil
    import sys

    width = shutil.get_terminal_size(fallback=(100, 24)).columns
    typer.echo(render(width, sys.stdout.isatty()), nl=False, color=True if sys.stdout.isatty() else None)


def warn(warnings: Sequence[str]) -> None:
    """Print warnings on standard error, each once."""
    for warning in dict.fromkeys(warnings):
        typer.echo(f"wayscore: {warning}", err=True)


@contextmanager
def progress_bar(steps: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error while work goes on, if that is a terminal and there are steps to tell of."""
    import sys

    if not steps or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps)
        done = count()

        def advance(what: str) -> None:
            bar.update(task, completed=next(done), description=what)

        yield advance


def write_episodes(table: ScoreTable, path: Path) -> None:
    """Write a row an episode in the form that the file's ending names."""
    if path.suffix == ".parquet":
        table.save(path)
    elif path.suffix == ".csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table.to_arrow(), path)
    elif path.suffix == ".jsonl":
        import json
        import math

        rows = table.to_arrow().to_pylist()
        plain = ({key: None if value == math.inf else value for key, value in row.items()} for row in rows)
        path.write_text("".join(json.dumps(row, allow_nan=False) + "\n" for row in plain))
    else:
        raise OptionError(f"--episodes {path}: the ending must be .parquet, .csv or .jsonl")
