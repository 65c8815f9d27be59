"""`wayscore audit`: claims about metrics as experiments, in generated worlds, on real paths, and on real runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.options import FILE, words
from wayscore.cli.output import progress, show
from wayscore.cli.verb import argument, option, verb

if TYPE_CHECKING:
    from pathlib import Path


@verb(
    "wayscore audit",
    "wayscore audit nDTW SED --experiments near-miss,query-density",
    "wayscore audit nDTW CLS -r R2R_val_unseen.json -g connectivity/ --figure responses.svg",
)
@argument("metrics", nargs=-1, metavar="[METRIC]...", help="Metrics to audit; all of the paper's by default.")
@options.references(required=False, note="; without them, worlds are generated.")
@options.data
@option(
    "--experiments",
    multiple=True,
    callback=words(),
    metavar="NAMES",
    section="Experiments",
    help="Experiments to carry out, such as near-miss,detour; all by default.",
)
@options.form("text", "json", "markdown")
@option("--figure", type=FILE, metavar="FILE", section="Output", help="Also draw a figure: .svg, .pdf or .png.")
def audit(metrics: Sequence[str], form: str, figure: Path | None, **settings: Any) -> None:
    """Test claims about metrics by experiments."""
    from wayscore.auditing.audit import audit as audit_metrics

    with progress() as tell:
        found = audit_metrics(list(metrics) or None, progress=tell, **settings)
    show(lambda width, color: found.render(form, width=width, color=color))
