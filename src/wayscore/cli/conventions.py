"""`wayscore conventions`: the list, one in full, or what two of them do differently, also to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.inputs import load
from wayscore.cli.output import show
from wayscore.cli.verb import argument, option, verb

if TYPE_CHECKING:
    from wayscore.convention import Convention


@verb(
    "wayscore conventions",
    "wayscore conventions --diff duet paper --run results.json -r R2R_val_unseen.json -g connectivity/",
)
@argument("name", required=False, help="Convention to print in full: a name, or a .toml file.")
@option("--diff", nargs=2, metavar="A B", help="Print what two conventions do differently.")
@option("--run", metavar="RUN", section="Data", help="With --diff: what that does to each number of this run.")
@options.references(required=False)
@options.data
@options.metrics
def conventions(
    name: str | None,
    diff: tuple[str, str] | None,
    run: str | None,
    references: str | None,
    graphs: str | None,
    reader: dict[str, str],
    metrics: list[str] | None,
) -> None:
    """List the conventions that runs can be scored by, print one in full, or show what two of them do differently.

    A convention is every choice of an evaluator that changes a number: how success is decided, what SPL divides by,
    which paths are warped, and more. One in full names the repository and commit that it follows, how it is proven,
    its columns with that program's names, and what cannot be matched.
    """
    from wayscore.convention.presets import CONVENTIONS, find_convention

    if run is not None and (diff is None or references is None):
        raise click.UsageError("--run needs --diff A B and --references FILE")
    if diff is not None:
        first, second = map(find_convention, diff)
        for choice, (here, there) in first.differences(second).items():
            click.echo(f"{choice}: {first.name} {_text(here)}, {second.name} {_text(there)}")
        if run is not None and references is not None:
            directed = first if first.distance == "directed hops" else second
            _show_effects(run, *load(references, graphs, reader, directed), metrics, first, second)
    elif name is not None:
        from wayscore.report.conventions import describe

        for heading, lines in describe(find_convention(name)).items():
            click.echo("\n".join([f"\n{heading}:", *(f"  {line}" for line in lines)] if heading else lines))
    else:
        width = max(map(len, CONVENTIONS))
        for convention in CONVENTIONS.values():
            click.echo(f"{convention.name:{width}}  {convention.about}")


def _show_effects(
    run: str, references: Any, graphs: Any, metrics: list[str] | None, first: Convention, second: Convention
) -> None:
    from wayscore.evaluation.effects import effects
    from wayscore.report.layout import number
    from wayscore.report.terminal import TextPage, TextTable

    found = effects(run, references, first, second, graphs=graphs, metrics=metrics)
    table = TextTable(["", *(metric.symbol for metric in found.metrics)], space=2)
    for label, means in found.rows():
        table.rows.append([label, *(number(metric, means[metric.symbol]) for metric in found.metrics)])

    def text(width: int, color: bool) -> str:
        page = TextPage(max(width, table.width()), color)
        page.add("", table)
        return str(page)

    show(text)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "all"
    return str(value)
