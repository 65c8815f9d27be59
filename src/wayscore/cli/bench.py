"""`wayscore bench`: the ratios on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WIDTH = 120
"""Columns of the table where the output is no terminal and says nothing of its width."""


def bench(
    quick: Annotated[bool, typer.Option(help="Smaller sizes: a smoke test of seconds, without bars.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Keep the rows whose name or peer contains this text; may be repeated."),
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file as well.")] = None,
) -> None:
    """Measure wayscore against its peers: CPU time of one thread, best of five, results compared.

    Peers that are not installed are named and left out. Set WAYSCORE_DATA to a folder with connectivity.tar.gz
    and r2r/R2R_val_unseen.json.gz to use the real graphs and paths; else their like is generated.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from wayscore.benchmarks import run
    from wayscore.errors import OptionError

    if json is not None and not json.absolute().parent.is_dir():  # found before the minutes of measuring, not after
        raise OptionError(f"{json}: its folder does not exist; make it first or name another file")
    errors = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    # Few refreshes: the display's thread runs in the process whose CPU time is measured.
    with Progress(*columns, console=errors, disable=not errors.is_terminal, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what, refresh=True)

        report = run(quick=quick, only=only, progress=show)
    if json is not None:
        json.write_text(report.to_json(), encoding="utf-8")
    output = Console()
    if not output.is_terminal:
        output.width = WIDTH
    output.print(report.table())
    missed = report.missed
    if missed:
        typer.echo(f"Below their bar, or not agreeing: {len(missed)} of {len(report.rows)} rows.")
