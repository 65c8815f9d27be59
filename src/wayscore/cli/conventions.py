"""`wayscore conventions`: the list, one in full, or what two of them do differently, to a run too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.convention import Convention


def conventions(
    name: Annotated[str | None, typer.Argument(help="One convention, in full.", show_default=False)] = None,
    diff: Annotated[tuple[str, str] | None, typer.Option(help="Two conventions: what they do differently.")] = None,
    run: Annotated[Path | None, typer.Option(help="With --diff: what that does to each number of this run.")] = None,
    references: Annotated[Path | None, typer.Option("--references", "-r", help="What the run was asked for.")] = None,
    graphs: Annotated[Path | None, typer.Option("--graphs", "-g", help="Connectivity files, or a tar of them.")] = None,
    metrics: Annotated[str | None, typer.Option(help="Which metrics, for example nDTW,SPL.")] = None,
) -> None:
    """List the conventions that scores can be computed by, or tell two of them apart.

    Example: wayscore conventions --diff duet paper --run results.json -r R2R_val_unseen.json -g connectivity/

    Args:
        name: one convention, in full; a name or a .toml file.
        diff: two conventions, to see what they do differently.
        run: a result file, to see what each difference does to its numbers.
        references: what the run was asked for.
        graphs: connectivity files.
        metrics: symbols separated by commas.
    """
    from dataclasses import asdict

    from wayscore.convention.presets import CONVENTIONS, find_convention

    if run is not None and (diff is None or references is None):
        raise OptionError("--run needs --diff A B and --references FILE")
    if diff is not None:
        first, second = map(find_convention, diff)
        for choice, (here, there) in first.differences(second).items():
            typer.echo(f"{choice}: {first.name} {_text(here)}, {second.name} {_text(there)}")
        if run is not None and references is not None:
            _show_effects(run, references, graphs, metrics, first, second)
    elif name is not None:
        for choice, value in asdict(find_convention(name)).items():
            typer.echo(f"{choice}: {_text(value)}")
    else:
        width = max(map(len, CONVENTIONS))
        for convention in CONVENTIONS.values():
            typer.echo(f"{convention.name:{width}}  {convention.about}")


def _show_effects(
    run: Path, references: Path, graphs: Path | None, metrics: str | None, first: Convention, second: Convention
) -> None:
    from wayscore.evaluation.effects import effects, rows
    from wayscore.report.layout import number

    found = effects(run, references, first, second, graphs=graphs, metrics=metrics)
    lines = rows(found, (first.name, second.name))
    width = max(len(label) for label, _ in lines)
    typer.echo("")
    typer.echo(" " * width + "".join(f"{metric.symbol:>8}" for metric in found.metrics))
    for label, means in lines:
        typer.echo(f"{label:{width}}" + "".join(f"{number(m, means[m.symbol]):>8}" for m in found.metrics))


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "all"
    return str(value)
