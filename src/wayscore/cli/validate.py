"""`wayscore validate`: what a test server would reject, found here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wayscore.cli.score import GraphsOption, ReferencesOption

SHOWN = 20


def validate(
    run: Annotated[Path, typer.Argument(help="A result file.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
) -> None:
    """Check a result file against its references and list every problem; status 1 if there is any.

    Works on test splits too, whose ground truth is withheld.

    Example: wayscore validate results.json --references R2R_test.json --graphs connectivity/

    Args:
        run: a result file.
        references: what was asked for.
        graphs: connectivity files; with them unknown nodes and impossible moves are found.
    """
    from wayscore.distances.matterport import load_graphs
    from wayscore.episodes import describe, find_problems
    from wayscore.formats import load_references, load_run

    asked, done = load_references(references), load_run(run)
    scans = None if graphs is None else load_graphs(graphs)
    problems = find_problems(done, asked, scans)
    for kind, names in problems.items():
        if names:
            typer.echo(describe(kind, names, asked, SHOWN))
    count = sum(len(names) for names in problems.values())
    if count:
        typer.echo(f"{done.name}: {count} problems in {len(done.queries)} answers to {len(asked.episodes)} episodes")
        raise typer.Exit(1)
    typer.echo(f"{done.name}: {len(done.queries)} answers to {len(asked.episodes)} episodes, no problem found")
