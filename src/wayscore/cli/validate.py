"""`wayscore validate`: every problem that a test server would reject a run for, found at once."""

from __future__ import annotations

import click

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.output import say

SHOWN = 20
"""Problems of one kind that are listed, unless --all is given."""


@verb("wayscore validate results.json --references R2R_test.json --graphs connectivity/")
@argument("run", help="Result file.")
@options.references()
@options.data
@options.run_format
@option("--all", "every", is_flag=True, section="Output", help=f"List all problems, not only {SHOWN} of each kind.")
@options.form("text", "json")
@click.pass_context
def validate(
    context: click.Context,
    run: str,
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    run_format: str | None,
    every: bool,
    form: str,
) -> None:
    """Check a result file against its references and list every problem; the exit status is 1 if there is any.

    The problems are damaged records (with their line, episode and field), predictions that are missing, unknown or
    given twice, and queries (your agent's trajectories) that start at a wrong node, take a step that is not an edge, or
    visit an unknown node. Test splits without ground truth can be checked too.
    """
    from wayscore.evaluation.validation import validate as find_problems

    most = None if every else SHOWN
    found = find_problems(run, references, graphs, most=most, run_format=run_format, reader=reader)
    if form == "json":
        import json

        say(json.dumps(found.to_dict()))
    else:
        for line in found.lines():
            say(line)
    if found:
        context.exit(1)
