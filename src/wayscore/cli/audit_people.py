"""The verb that audits metrics against people's judgements."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import say, show

statistics_option = partial(option, section="Statistics")


@verb(
    "wayscore audit-people hear.json.gz --graphs connectivity/",
    "wayscore audit-people NDH_val_seen.json NDH_val_unseen.json --graphs connectivity/ --rating oracle_game_quality",
    "wayscore audit-people uc.json --answers uc.jsonl",
    name="audit-people",
)
@argument(
    "judgements",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="FILE...",
    help="HEAR's human evaluation, NDH references with ratings, or a study.",
)
@option("--answers", type=FILE, metavar="ANSWERS", help="Answers to a study, as study export writes them.")
@options.graphs
@option("--rating", metavar="NAME", help="Which rating of the dataset; its first by default.")
@options.metrics
@options.threshold
@statistics_option(
    "--method",
    type=OneOf(["spearman", "kendall"]),
    default="spearman",
    help="Rank correlation of differences and p-values; both are printed.",
)
@statistics_option(
    "--cluster",
    metavar="LABEL",
    help="Walks that are resampled together: instruction, path or person (HEAR), game or scan (NDH), set or rater.",
)
@statistics_option(
    "--within", metavar="LABEL", help="Correlate only inside groups, such as path, and take the mean over groups."
)
@options.resamples
@options.seed
@options.form("text", "json")
@option("--figure", type=FILE, metavar="FILE", section="Output", help="Also draw it: a .pdf, .svg or .png file.")
def audit_people(
    judgements: tuple[Path, ...], graphs: str | None, metrics: Any, form: str, figure: Path | None, **settings: Any
) -> None:
    """Correlate metrics with people's judgements of the same walks: with intervals, and differences between metrics.

    A walk is the query, the instructed path is the reference. Differences are corrected for the number of pairs.
    """
    from wayscore.lab.audit.people.people import METRICS, audit_people as audit

    if figure is not None:
        from wayscore.figures.style import check_format, need_matplotlib

        check_format(figure.suffix.removeprefix("."))
        need_matplotlib()
    files = judgements if len(judgements) > 1 else judgements[0]
    found = audit(files, graphs, metrics=metrics or METRICS, **settings)
    if figure is not None:
        from wayscore.figures.style import save
        from wayscore.lab.audit.figures import figure_people

        save(figure_people([found]), figure)
    if form == "json":
        say(found.to_json())
    else:
        show(found.document().render)
