"""`wayscore score`: result files in, means with intervals and a signature out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os.path import splitext
from typing import TYPE_CHECKING, Any

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import FILE, OneOf, file_name, load, named_runs, stem
from wayscore.cli.output import FOR_PROGRAMS, progress, show, warn

if TYPE_CHECKING:
    from pathlib import Path


@verb(
    "wayscore score results.json --references R2R_val_unseen.json --graphs connectivity/",
    "wayscore score old.json new=a.json new=b.json -r R2R_val_unseen.json -g connectivity/ --format latex",
    'wayscore score "rollouts/*.parquet" -r R2R_train.json -g connectivity/ --duplicate all --workers 8',
)
@argument(
    "runs",
    nargs=-1,
    required=True,
    metavar="[NAME=]RUN...",
    help="Result files, folders, quoted patterns, addresses or saved results; those of one NAME are one agent's.",
)
@options.references(required=False, note="; not needed for saved results, or where the run's rows have their own.")
@options.data
@options.evaluation
@option("--split-by", type=OneOf(["scan", "length", "path"]), section="Output", help="Also print the means of groups.")
@option("--sort", metavar="METRIC", section="Output", help="Sort runs by this metric, the best first.")
@options.form()
@option(
    "--save", type=FILE, metavar="DIR", section="Output", help="Save each result as DIR/NAME.parquet, for `compare`."
)
@option(
    "--episodes",
    metavar="FILE",
    section="Output",
    help="Write one row per episode: .parquet, .csv or .jsonl; with several runs their names are added.",
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
    from wayscore.report.results import render

    prepared = None if references is None else Prepared(*load(references, graphs, reader, convention))
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
    show(partial(render, results, split_by=split_by, sort=sort), form)
    if form in FOR_PROGRAMS:
        from wayscore.report.results import warnings_of

        warn(warnings_of(results))
