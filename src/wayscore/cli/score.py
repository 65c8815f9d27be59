"""`wayscore score`, `compare` and `validate`: result files in; means, tests or problems out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os.path import splitext
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.app import FILE, argument, verb, whole
from wayscore.cli.options import file_name, named_runs, output_option, split_name, statistics_option, stem
from wayscore.cli.output import progress, say, show

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = 20
"""Problems of one kind that `validate` lists, unless --all is given."""


@verb(
    "wayscore score results.json --references R2R_val_unseen.json --graphs connectivity/",
    "wayscore score old.json new=a.json new=b.json -r R2R_val_unseen.json -g connectivity/ --format latex",
    'wayscore score "rollouts/*.parquet" -r R2R_train.json -g connectivity/ --duplicate all --workers 8',
)
@argument(
    "runs",
    "Result files, folders, quoted patterns, addresses or saved results; those of one NAME are one agent's.",
    nargs=-1,
    required=True,
    metavar="[NAME=]RUN...",
)
@options.references(required=False, note="; not needed for saved results, or where the run's rows have their own.")
@options.data
@options.evaluation
@output_option("--split-by", "Also print the means of groups.", ["scan", "length", "path"])
@output_option("--sort", "Sort runs by this metric, the best first.", metavar="METRIC")
@options.means_form
@output_option("--save", "Save each result as DIR/NAME.parquet, for `compare`.", FILE, metavar="DIR")
@output_option(
    "--episodes",
    "Write one row per episode: .parquet, .csv or .jsonl; with several runs their names are added.",
    metavar="FILE",
)
@options.html
def score(
    runs: Sequence[str],
    references: str | None,
    graphs: str | None,
    reader: dict[str, str],
    convention: str | None,
    episodes: str | None,
    form: str,
    split_by: str | None,
    sort: str | None,
    save: Path | None,
    html: Path | None,
    **settings: Any,
) -> None:
    """Score runs (your agent's trajectories) against references and print means with 95 % intervals and a signature.

    No simulator is needed. Runs of any size are scored in little memory, on as many cores as you like.
    """
    from wayscore.errors import OutputError
    from wayscore.evaluation.evaluator import evaluate
    from wayscore.evaluation.inputs import Prepared
    from wayscore.evaluation.repeated_runs import pool
    from wayscore.evaluation.saved import is_result, load_result
    from wayscore.formats import load_references
    from wayscore.report.results import render, warnings_of

    prepared = None if references is None else Prepared(load_references(references, **reader), graphs)
    agents: dict[str, tuple[str | None, list[str]]] = {}
    for name, file in named_runs(runs):  # those of one name are runs of one agent
        agents.setdefault(file if name is None else f"{name}=", (name, []))[1].append(file)
    results = []
    with progress() as tell:
        for name, files in agents.values():
            found = []
            for number, file in enumerate(files, start=1):
                if references is None and is_result(file):
                    found.append(load_result(file, name))
                    continue
                target = episodes
                if episodes is not None and len(runs) > 1:
                    own = stem(file) if name is None else name if len(files) == 1 else f"{name}-{number}"
                    start, ending = splitext(episodes.rstrip("/"))
                    target = f"{start}-{file_name(own)}{ending}"
                given = {**settings, "convention": convention, "episodes": target, "progress": tell}
                found.append(evaluate(file, prepared, graphs, name=name, **given))
            results.append(found[0] if name is None or len(found) == 1 else pool(found, name))
    if save is not None:
        if save.is_file():
            raise OutputError(f"{save}: is a file; --save takes a folder")
        save.mkdir(parents=True, exist_ok=True)
        for result in results:
            result.save(save / f"{file_name(result.name)}.parquet")
    if html is not None:
        from wayscore.report.page import write_page

        write_page(html, results, split_by=split_by)
    show(partial(render, results, split_by=split_by, sort=sort), form, warnings_of(results))


@verb(
    "wayscore compare old.json new.json --references R2R_val_unseen.json --graphs connectivity/",
    "wayscore compare A=a.json B=b1.json B=b2.json -r R2R_val_unseen.json -g connectivity/ --html report.html",
    "wayscore compare saved/old.parquet saved/new.parquet --metrics nDTW,SR",
)
@argument(
    "runs",
    "Result files, saved results or score files, two or more; several of one NAME are runs of one agent.",
    nargs=-1,
    required=True,
    metavar="[NAME=]RUN...",
)
@options.references(required=False, note="; not needed for saved results and score files.")
@options.data
@options.evaluation
@statistics_option(
    "--baseline",
    "Run that the others are tested against: its name or number.",
    metavar="NAME",
    show_default="the first",
)
@output_option("--top", "Episodes that differ most to show, each way.", whole(0), 5)
@options.means_form
@options.html
def compare(
    runs: Sequence[str], references: str | None, graphs: str | None, form: str, html: Path | None, **settings: Any
) -> None:
    """Compare runs on the episodes they share: intervals, paired tests, wins and losses, where they differ most.

    Differences have paired bootstrap intervals; p-values are those of a paired randomization test, corrected after
    Holm over all metrics and runs.
    """
    from wayscore.evaluation.comparison import compare as compare_runs
    from wayscore.report.results import render_comparison, warnings_of

    names, files = zip(*map(split_name, runs), strict=True)
    with progress() as tell:
        found = compare_runs(list(files), references, graphs, names=names, progress=tell, **settings)
    if html is not None:
        from wayscore.report.page import write_page

        write_page(html, found.results, comparison=found)
    show(partial(render_comparison, found), form, warnings_of(found.results, found.warnings))


@verb("wayscore validate results.json --references R2R_test.json --graphs connectivity/")
@argument("run", "Result file.")
@options.references()
@options.data
@options.run_format
@output_option("--all every", f"List all problems, not only {SHOWN} of each kind.", bool)
@options.form("text", "json")
def validate(run: str, references: str, graphs: str | None, every: bool, form: str, **settings: Any) -> None:
    """Check a result file against its references and list every problem; the exit status is 1 if there is any.

    The problems are damaged records (with their line, episode and field), predictions that are missing, unknown or
    given twice, and queries (your agent's trajectories) that start at a wrong node, take a step that is not an edge, or
    visit an unknown node. Test splits without ground truth can be checked too.
    """
    from wayscore.evaluation.validation import validate as find_problems

    found = find_problems(run, references, graphs, most=None if every else SHOWN, **settings)
    if form == "json":
        import json

        say(json.dumps(found.to_dict()))
    else:
        for line in found.lines():
            say(line)
    if found:
        click.get_current_context().exit(1)
