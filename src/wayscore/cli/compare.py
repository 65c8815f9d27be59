"""`wayscore compare`: two or more runs on the same episodes, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb, whole
from wayscore.cli.options import split_name
from wayscore.cli.output import FOR_PROGRAMS, progress, show, warn

if TYPE_CHECKING:
    from pathlib import Path


@verb(
    "wayscore compare old.json new.json --references R2R_val_unseen.json --graphs connectivity/",
    "wayscore compare A=a.json B=b1.json B=b2.json -r R2R_val_unseen.json -g connectivity/ --html report.html",
    "wayscore compare saved/old.parquet saved/new.parquet --metrics nDTW,SR",
)
@argument(
    "runs",
    nargs=-1,
    required=True,
    metavar="[NAME=]RUN...",
    help="Result files, saved results or score files, two or more; several of one NAME are runs of one agent.",
)
@options.references(required=False, note="; not needed for saved results and score files.")
@options.data
@options.evaluation
@option(
    "--baseline",
    metavar="NAME",
    show_default="the first",
    help="Run that the others are tested against: its name or number.",
    section="Statistics",
)
@option("--top", type=whole(0), default=5, section="Output", help="Episodes that differ most to show, each way.")
@options.form()
@options.html
def compare(
    runs: Sequence[str], references: str | None, graphs: str | None, form: str, html: Path | None, **settings: Any
) -> None:
    """Compare runs on the episodes they share: intervals, paired tests, wins and losses, where they differ most.

    Differences have paired bootstrap intervals; p-values are those of a paired randomization test, corrected after
    Holm over all metrics and runs.
    """
    from wayscore.evaluation.comparison import compare as compare_runs
    from wayscore.report import render_comparison

    names, files = zip(*map(split_name, runs), strict=True)
    with progress() as tell:
        found = compare_runs(list(files), references, graphs, names=names, progress=tell, **settings)
    if html is not None:
        from wayscore.report import write_page

        write_page(html, found.results, comparison=found)
    show(partial(render_comparison, found), form)
    if form in FOR_PROGRAMS:
        from wayscore.report.notes import warnings_of

        warn(warnings_of(found.results, found.warnings))
