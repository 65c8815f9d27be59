"""`wayscore reproduce`: the paper's tables, from data to LaTeX."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb, whole
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import say, show
from wayscore.errors import OptionError
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.lab.agents.table2 import Plan

note = partial(say, err=True)
"""Prints the progress of trainings, also from other processes."""


training = partial(option, section="Training")


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
@training("--seeds", type=whole(1, 10_000), help="Random seeds per agent; by default 5, for ablations 1.")
@training("--workers", type=whole(1, 1_024), default=2, help="Trainings that run at once, one core each.")
@training(
    "--only", metavar="NAME", help="Only this training of table2, such as r2r-goal-0, and those that it starts from."
)
@training("--scale", type=float, default=1.0, help="Factor for all numbers of updates; below 1 for a quick look.")
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
    from wayscore.lab.agents.checkpoints import need_torch

    if worlds == (r2r is not None):
        raise OptionError("give either --r2r FOLDER (and --graphs) or --worlds")
    if only is not None and what != "table2":
        raise OptionError(f"--only names a training of table2, and {what} has none; leave it out")
    if what == "ablations" and r2r is None:
        raise OptionError("ablations need R2R; give --r2r FOLDER and --graphs")
    need_torch()
    from wayscore.lab.agents import table2, table2_results

    out = Path("ablations" if what == "ablations" else "table2") if out is None else out
    out.mkdir(parents=True, exist_ok=True)
    count = seeds or (1 if what == "ablations" else 5)
    connectivity = None if graphs is None else Path(graphs)
    plan = table2.Plan(out, r2r, connectivity, views, count, scale, table2_results.chosen(out))
    run = partial(table2.run_job, plan=plan, progress=note)
    if what == "ablations":
        table2.work_off(table2.ablation_jobs(plan), run, workers)
        show(table2_results.ablation_table(plan).render)
        return
    table2.prepare(plan)
    work = table2.jobs(plan)
    if what == "search":
        tried = table2.search_jobs(plan)
        table2.work_off([job for job in work if job.name == tried[0].after], run, 1)
        table2.work_off(tried, run, workers)
        show(table2_results.search_table(plan.out).render)
        return
    table2.work_off(table2.needed_for(only, work) if only else work, run, workers)
    if only is None:
        table2.work_off(table2.trials(plan), run, workers)
    results = table2_results.gather(plan)
    latex = table2_results.document(results, details=False).render("latex")
    write_whole(out / "table2.tex", latex.encode())
    saved = {**results, "search": table2_results.searched(out)}
    write_whole(out / "table2.json", json.dumps(saved, indent=1).encode())
    _draw(plan)
    if form == "latex":
        say(latex, nl=False)
    else:
        show(table2_results.document(results).render)


def _draw(plan: Plan) -> None:
    """Draw the learning curves of both rewards, where matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    from wayscore.figures import save
    from wayscore.lab.agents.checkpoints import CURVE, figure_of, read_curve

    for dataset in plan.datasets:
        agents = {
            agent: curves
            for agent in ("goal", "fidelity")
            if (curves := [read_curve(one) for one in plan.folders(dataset, agent) if (one / CURVE).exists()])
        }
        if agents:
            save(figure_of(agents), plan.out / f"curves-{dataset}.pdf")
