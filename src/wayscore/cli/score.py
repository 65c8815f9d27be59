"""`wayscore score`: result files in, means with intervals and a signature out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.episodes import References
    from wayscore.table import ScoreTable

ReferencesOption = Annotated[
    Path, typer.Option("--references", "-r", help="What was asked for: R2R, R4R, RxR, NDH, ...")
]
GraphsOption = Annotated[
    Path | None, typer.Option("--graphs", "-g", help="Connectivity files: a folder or a tar of them.")
]


def score(
    runs: Annotated[list[Path], typer.Argument(help="Result files, one for each agent.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
    convention: Annotated[str, typer.Option(help="The choices to score by: a name, or your own .toml file.")] = "paper",
    threshold: Annotated[float | None, typer.Option(help="Success threshold; the convention's by default.")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Which metrics, for example nDTW,SDTW; by default the convention's.")
    ] = None,
    missing: Annotated[str | None, typer.Option(help="References without an answer: error, skip or zero.")] = None,
    unknown: Annotated[str | None, typer.Option(help="Answers to no reference: error or skip.")] = None,
    duplicate: Annotated[str | None, typer.Option(help="Episodes answered twice: error, or keep the first.")] = None,
    start: Annotated[str | None, typer.Option(help="Queries that begin elsewhere: error, keep, skip or zero.")] = None,
    move: Annotated[str | None, typer.Option(help="Steps that are no edges: keep, error, skip or zero.")] = None,
    node: Annotated[str | None, typer.Option(help="Unknown places: error, skip or zero.")] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="text, json, markdown or latex.")] = "text",
    episodes: Annotated[Path | None, typer.Option(help="Write a row an episode: .parquet, .csv or .jsonl.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap.")] = 10_000,
) -> None:
    """Score runs against references and print means with 95 % intervals and a signature.

    Files may be gzipped and graphs may stay in their tar; no simulator is needed.

    Example: wayscore score results.json --references R2R_val_unseen.json --graphs connectivity/

    Args:
        runs: result files, one for each agent.
        references: what was asked for.
        graphs: connectivity files; not needed for paths of coordinates.
        convention: the set of choices to score by; `wayscore conventions` lists them.
        threshold: success threshold, in the units of the distance.
        metrics: symbols separated by commas.
        missing: what to do with references that a run does not answer.
        unknown: what to do with answers to no reference.
        duplicate: what to do with episodes that are answered twice.
        start: what to do with queries that begin elsewhere than their reference.
        move: what to do with queries that take a step that is no edge.
        node: what to do with queries that visit a place which their scene does not have.
        form: text, json, markdown or latex.
        episodes: where to write a row an episode; with several runs the run's name is added.
        seed: of the bootstrap.
        resamples: of the bootstrap.
    """
    import sys

    import numpy as np

    from wayscore.episodes import join
    from wayscore.formats import load_references, load_run
    from wayscore.report import render, summarize
    from wayscore.scoring import score_joined

    asked = load_references(references)
    distance = distances_for(asked, graphs)
    policies: dict[str, Any] = {
        "missing": missing,
        "unknown": unknown,
        "duplicate": duplicate,
        "start": start,
        "move": move,
        "node": node,
    }
    summaries = []
    for path in runs:
        joined = join(load_run(path), asked, graphs=distance, convention=convention, **policies)
        table = score_joined(joined, distance=distance, threshold=threshold, metrics=metrics, convention=convention)
        summaries.append(summarize(table, joined, rng=np.random.default_rng(seed), resamples=resamples))
        if episodes is not None:
            write_episodes(table, episodes if len(runs) == 1 else episodes.with_stem(f"{episodes.stem}-{joined.run}"))
    width = None if sys.stdout.isatty() else 120
    typer.echo(render(summaries, form, width=width), nl=False)


def distances_for(references: References, graphs: Path | None) -> Any:
    """Return scene -> graph where paths are labels, None (Euclidean) where they are coordinates."""
    from wayscore.distances.matterport import load_graphs

    first = next(iter(references.episodes.values()), None)
    labels = first is not None and isinstance(first.path, list)
    if labels and graphs is None:
        raise OptionError(
            f"{references.name}: paths are node names, so distances need the graphs; give the connectivity files with "
            "--graphs FOLDER or TAR"
        )
    return load_graphs(graphs) if labels and graphs is not None else None


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
