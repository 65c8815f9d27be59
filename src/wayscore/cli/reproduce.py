"""`wayscore reproduce`: the paper's tables, from data to LaTeX."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb, whole
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import say, show
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.lab.agents.table2 import Plan

note = partial(say, err=True)
"""Prints the progress of trainings, also from other processes."""


@verb(
    "wayscore reproduce table2 --r2r data/r2r --graphs connectivity/ --views views.tar.gz -o table2",
    "wayscore reproduce table2 --worlds -o table2-worlds",
)
@argument(
    "what", type=OneOf(["table2", "search", "ablations"]), metavar="table2|search|ablations", help="Experiment to run."
)
@option(
    "--r2r",
    type=FILE,
    metavar="DIR",
    section="Data",
    help="Folder with R2R_train.json and R2R_val_unseen.json, gzipped or not.",
)
@options.graphs
@options.views
@options.worlds
@option(
    "--seeds", type=whole(1, 10_000), section="Training", help="Random seeds per agent; by default 5, for ablations 1."
)
@option(
    "--workers", type=whole(1, 1_024), default=2, section="Training", help="Trainings that run at once, one core each."
)
@option(
    "--only",
    metavar="NAME",
    section="Training",
    help="Only this training of table2, such as r2r-goal-0, and those that it starts from.",
)
@option(
    "--scale",
    type=float,
    default=1.0,
    section="Training",
    help="Factor for all numbers of updates; below 1 for a quick look.",
)
@options.form("text", "latex")
@options.out("Folder for all files; by default the name of the experiment.")
def reproduce(
    what: str,
    r2r: Path | None,
    graphs: str | None,
    views: Path | None,
    worlds: bool,
    seeds: int | None,
    workers: int,
    only: str | None,
    scale: float,
    form: str,
    out: Path | None,
) -> None:
    """Train and test the random, goal-oriented and fidelity-oriented agents of the paper's Table 2.

    Some agents are tested once more, in rows of their own: planning ahead, and all seeds deciding together.

    `search` tries the same settings with every reward, in held-out training houses; `table2` in the same folder then
    uses the best ones. `ablations` trains agents by imitation, each without one ingredient, and evaluates them in
    held-out houses. To continue interrupted work, run the same command again.
    """
    from wayscore.lab.agents.need import need_torch

    if worlds == (r2r is not None):
        raise OptionError("give either --r2r FOLDER (and --graphs) or --worlds")
    if only is not None and what != "table2":
        raise OptionError(f"--only names a training of table2, and {what} has none; leave it out")
    need_torch()
    connectivity = None if graphs is None else Path(graphs)
    if what == "ablations":
        if r2r is None:
            raise OptionError("ablations need R2R; give --r2r FOLDER and --graphs")
        _ablate(Path(what) if out is None else out, r2r, connectivity, views, seeds or 1, workers, scale)
        return
    from wayscore.lab.agents.search import chosen
    from wayscore.lab.agents.table2 import Plan, prepare

    out = Path("table2") if out is None else out
    out.mkdir(parents=True, exist_ok=True)
    plan = Plan(out, r2r, connectivity, views, 5 if seeds is None else seeds, scale, chosen(out))
    prepare(plan)
    if what == "search":
        _search(plan, workers)
    else:
        _table2(plan, workers, only, form)


def _table2(plan: Plan, workers: int, only: str | None, form: str) -> None:
    import json

    from wayscore.lab.agents.search import searched
    from wayscore.lab.agents.table2 import jobs, needed_for, run_job, work_off
    from wayscore.lab.agents.table2_results import gather
    from wayscore.lab.agents.table2_testing import run_trial, trials
    from wayscore.lab.agents.table2_text import document
    from wayscore.writing import write_whole

    work = jobs(plan)
    work_off(needed_for(only, work) if only else work, partial(run_job, plan=plan, progress=note), workers)
    if only is None:
        work_off(trials(plan), partial(run_trial, plan=plan), workers)
    table = gather(plan)
    saved = {**table.to_dict(), "search": searched(plan.out)}
    latex = document(table, details=False).render("latex")
    write_whole(plan.out / "table2.tex", latex.encode())
    write_whole(plan.out / "table2.json", json.dumps(saved, indent=1).encode())
    _draw(plan)
    if form == "latex":
        say(latex, nl=False)
    else:
        show(document(table).render)


def _search(plan: Plan, workers: int) -> None:
    from wayscore.lab.agents.search import run_search_job, search_jobs, table
    from wayscore.lab.agents.table2 import jobs, run_job, work_off

    start = [job for job in jobs(plan) if job.name == search_jobs(plan)[0].after]
    work_off(start, partial(run_job, plan=plan, progress=note), 1)
    work_off(search_jobs(plan), partial(run_search_job, plan=plan, progress=note), workers)
    show(table(plan.out).render)


def _ablate(
    out: Path, r2r: Path, graphs: Path | None, views: Path | None, seeds: int, workers: int, scale: float
) -> None:
    from wayscore.evaluation.engines import processes
    from wayscore.lab.agents.ablations import VARIANTS, ablate, table
    from wayscore.lab.agents.table2 import Plan, data_file

    train = data_file(Plan(out, r2r), "r2r", "train")
    one = partial(
        ablate,
        out=out,
        references=train,
        graphs=graphs,
        views=views,
        updates=max(1, round(1_500 * scale)),
        progress=note,
    )
    with processes(workers) as submit:
        wanted = [(name, seed) for seed in range(seeds) for name in VARIANTS if views is not None or name != "no views"]
        for done in [submit(partial(one, name, seed=seed)) for name, seed in wanted]:
            done.result()
    show(table(out, seeds).render)


def _draw(plan: Plan) -> None:
    """Draw the learning curves of both rewards, where matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    from wayscore.figures import save
    from wayscore.lab.agents.checkpoints import CURVE
    from wayscore.lab.agents.curves import figure_curves

    for dataset in plan.datasets:
        agents = {
            agent: folders
            for agent in ("goal", "fidelity")
            if (folders := [folder for folder in plan.folders(dataset, agent) if (folder / CURVE).exists()])
        }
        if agents:
            save(figure_curves(agents), plan.out / f"curves-{dataset}.pdf")
