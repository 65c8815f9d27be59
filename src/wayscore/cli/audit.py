"""`wayscore audit` and `audit-people`: claims about metrics as experiments, on real runs, and against people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from wayscore.cli import options
from wayscore.cli.app import FILE, argument, option, verb, whole
from wayscore.cli.options import check_figure, draw, named_runs, statistics_option, words
from wayscore.cli.output import progress, say, show

experiments_option = partial(option, section="Experiments")


@verb(
    "wayscore audit",
    "wayscore audit nDTW SED --experiments near-miss,query-density",
    "wayscore audit nDTW CLS -r R2R_val_unseen.json -g connectivity/ --figure responses.svg",
    "wayscore audit --runs a.json B=b1.json B=b2.json -r R2R_val_unseen.json -g connectivity/ --metrics SPL,nDTW,SDTW",
)
@argument(
    "given",
    "Metrics to audit, all of the paper's by default; with --runs, the runs of systems (metrics: --metrics).",
    nargs=-1,
    metavar="[METRIC|[NAME=]RUN]...",
)
@option("--runs", "Audit metrics on the runs of two systems or more, which the arguments name.", bool)
@options.references(required=False, note="; without them, worlds are generated.")
@options.data
@options.run_format
@experiments_option(
    "--experiments",
    "Experiments to carry out, such as near-miss,detour; all by default.",
    multiple=True,
    callback=words,
    metavar="NAMES",
)
@experiments_option("--worlds", "Generated worlds; 40 by default.", whole(1, 10_000))
@experiments_option(
    "--paths",
    "Paths in each world (5 by default), or paths of the references, drawn at random (200).",
    whole(1, 1_000_000),
)
@options.convention
@options.threshold
@options.metrics
@options.path_step
@options.repeats
@options.policies
@statistics_option(
    "--difference",
    "With --runs: difference for which needed episodes are computed, as a share of the metric's scale; 0.02 by "
    "default.",
    float,
    metavar="SHARE",
)
@options.resamples
@options.seed
@options.form("text", "json", "markdown")
@options.figure
def audit(
    given: Sequence[str], runs: bool, metrics: list[str] | None, form: str, figure: Path | None, **settings: Any
) -> None:
    """Test claims about metrics: how they respond when episodes are changed, and what they say of real systems.

    Without --runs, experiments change episodes step by step: their scale, density and order, near misses, detours,
    stops. The tables have the response of each metric, a verdict, and whether the paper's claims hold. With --runs, the
    tables have the rankings of the systems by each metric, how far metrics agree, how stable rankings are, which share
    of systems a metric tells apart, what other thresholds and conventions change, and which metrics are redundant.
    """
    from wayscore.lab.audit.audit import audit as audit_metrics

    check_figure(figure)
    settings = {name: value for name, value in settings.items() if value is not None}
    if runs:
        names, files = zip(*named_runs(given), strict=True) if given else ((), ())
        settings |= {"runs": list(files), "names": names}
    else:
        if file := next((one for one in given if os.path.exists(one)), None):
            raise click.UsageError(f"{file} is a file, and without --runs the arguments are metrics; add --runs")
        metrics = [*given, *(metrics or ())] or None
    with progress() as tell:
        found = audit_metrics(metrics, progress=tell, **settings)
    draw(figure, found.figure)
    show(found.render, form)


@verb(
    "wayscore audit-people hear.json.gz --graphs connectivity/",
    "wayscore audit-people NDH_val_seen.json NDH_val_unseen.json --graphs connectivity/ --rating oracle_game_quality",
    "wayscore audit-people uc.json --answers uc.jsonl",
    name="audit-people",
)
@argument(
    "judgements",
    "HEAR's human evaluation, NDH references with ratings, or a study.",
    FILE,
    nargs=-1,
    required=True,
    metavar="FILE...",
)
@option("--answers", "Answers to a study, as study export writes them.", FILE, metavar="ANSWERS")
@options.graphs
@option("--rating", "Which rating of the dataset; its first by default.", metavar="NAME")
@options.metrics
@options.threshold
@statistics_option(
    "--method", "Rank correlation of differences and p-values; both are printed.", ["spearman", "kendall"], "spearman"
)
@statistics_option(
    "--cluster",
    "Walks that are resampled together: instruction, path or person (HEAR), game or scan (NDH), set or rater.",
    metavar="LABEL",
)
@statistics_option(
    "--within", "Correlate only inside groups, such as path, and take the mean over groups.", metavar="LABEL"
)
@options.resamples
@options.seed
@options.form("text", "json")
@options.figure
def audit_people(
    judgements: tuple[Path, ...], graphs: str | None, metrics: Any, form: str, figure: Path | None, **settings: Any
) -> None:
    """Correlate metrics with people's judgements of the same walks: with intervals, and differences between metrics.

    A walk is the query, the instructed path is the reference. Differences are corrected for the number of pairs.
    """
    from wayscore.lab.audit.figures import figure_people
    from wayscore.lab.audit.people.people import METRICS, audit_people as audit

    check_figure(figure)
    files = judgements if len(judgements) > 1 else judgements[0]
    found = audit(files, graphs, metrics=metrics or METRICS, **settings)
    draw(figure, figure_people, [found])
    if form == "json":
        say(found.to_json())
    else:
        show(found.document().render)
