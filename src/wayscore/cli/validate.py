"""`wayscore validate`: what a test server would reject, found here, all of it at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.cli.score import GraphsOption, ReferencesOption
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.formats import Fault

SHOWN = 20
"""Problems of one kind that are told, unless all are wanted."""


def validate(
    run: Annotated[Path, typer.Argument(help="A result file.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
    every: Annotated[bool, typer.Option("--all", help=f"List all problems, not {SHOWN} of each kind.")] = False,
    form: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
) -> None:
    """Check a result file against its references and list every problem; status 1 if there is any.

    Damaged records are told by line or number, episode and field; then what does not fit the references: answers
    that are missing, unknown or given twice, queries that begin elsewhere, leap or leave the graph. Works on test
    splits too, whose ground truth is withheld.

    Example: wayscore validate results.json --references R2R_test.json --graphs connectivity/

    Args:
        run: a result file.
        references: what was asked for.
        graphs: connectivity files; with them unknown nodes and impossible moves are found.
        every: list all problems; by default the first 20 of each kind and how many there are.
        form: text, or json: one object with the counts and the problems of each kind.
    """
    from wayscore.evaluation.validation import Findings
    from wayscore.formats import load_references, load_run
    from wayscore.formats.graphs import distances_for

    if form not in ("text", "json"):
        raise OptionError(f"problems are told as text or json, not {form!r}")
    asked = load_references(references)
    faults: list[Fault] = []
    done = load_run(run, faults=faults)
    scenes = None if graphs is None else distances_for(asked, graphs)
    found = Findings.of(done, asked, scenes, faults, None if every else SHOWN)
    if form == "json":
        import json

        typer.echo(json.dumps(found.to_dict()))
    else:
        for line in found.lines():
            typer.echo(line)
    if found.counts:
        raise typer.Exit(1)
