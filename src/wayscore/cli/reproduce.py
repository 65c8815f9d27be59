"""`wayscore reproduce`: the paper's tables, from data to LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.navigation.table2 import Plan


def reproduce(
    what: Annotated[str, typer.Argument(help="table2, or ablations.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder of everything that is made; named after WHAT.")
    ] = None,
    r2r: Annotated[Path | None, typer.Option(help="The folder of R2R's files.")] = None,
    graphs: Annotated[Path | None, typer.Option("--graphs", "-g", help="Connectivity files, or a tar of them.")] = None,
    views: Annotated[Path | None, typer.Option(help="Captions and detections of the views, a tar.")] = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Generated worlds and words; no data needed.")] = False,
    seeds: Annotated[int | None, typer.Option(help="Agents of each kind; 3 on files, 5 in worlds.")] = None,
    workers: Annotated[int, typer.Option(help="Trainings at a time.")] = 2,
    scale: Annotated[float, typer.Option(help="Multiplies all numbers of updates; less for a quick look.")] = 1.0,
    form: Annotated[str, typer.Option("--format", "-f", help="text or latex.")] = "text",
) -> None:
    """Train and test the random, goal-oriented and fidelity-oriented agents of the paper's Table 2.

    `ablations` trains by imitation with one ingredient left out at a time, and looks at held-out houses.

    Interrupted work goes on where it stopped: the same command again.

    Example: wayscore reproduce table2 --r2r data/r2r --graphs connectivity/ --views views.tar.gz --out table2

    Example without data: wayscore reproduce table2 --worlds --out table2-worlds

    Args:
        what: table2, or ablations.
        out: the folder of everything that is made.
        r2r: the folder of R2R_train.json and R2R_val_unseen.json, gzipped or not.
        graphs: connectivity files.
        views: captions and detections of the views, which the instruction's words are matched with.
        worlds: the same experiment in generated worlds.
        seeds: agents of each kind.
        workers: trainings at a time, a core each.
        scale: multiplies all numbers of updates.
        form: text or latex.
    """
    from wayscore.navigation.need import need_torch

    if what not in ("table2", "ablations"):
        raise OptionError(f"there is no recipe for {what!r}; known: table2, ablations")
    if worlds == (r2r is not None):
        raise OptionError("give either --r2r FOLDER (and --graphs) or --worlds")
    if form not in ("text", "latex"):
        raise OptionError(f"--format is text or latex, got {form!r}")
    need_torch()
    out = Path(what) if out is None else out
    if what == "ablations":
        if r2r is None:
            raise OptionError("ablations need R2R; give --r2r FOLDER and --graphs")
        _ablate(out, r2r, graphs, views, seeds or 1, workers, scale)
        return
    from wayscore.navigation.table2 import Plan, gather, prepare
    from wayscore.navigation.table2_text import latex, text

    plan = Plan(out, r2r, graphs, views, (5 if worlds else 3) if seeds is None else seeds, scale)
    out.mkdir(parents=True, exist_ok=True)
    prepare(plan)
    work_off(plan, workers)
    table = gather(plan)
    (out / "table2.tex").write_text(latex(table))
    _draw(plan)
    typer.echo(latex(table) if form == "latex" else text(table), nl=False)


def work_off(plan: Plan, workers: int) -> None:
    """Do all jobs, several at a time, each when the one it begins with is done."""
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from functools import partial
    from multiprocessing import get_context

    from wayscore.navigation.table2 import do, jobs

    waiting = jobs(plan)
    if workers <= 1:
        for job in waiting:
            do(job, plan, partial(typer.echo, err=True))
        return
    done: set[str] = set()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running: dict[Any, Any] = {}
        while waiting or running:
            for job in [job for job in waiting if job.after is None or job.after in done]:
                running[pool.submit(do, job, plan, partial(typer.echo, err=True))] = job
                waiting.remove(job)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done.add(running.pop(future).name)


def _ablate(
    out: Path, r2r: Path, graphs: Path | None, views: Path | None, seeds: int, workers: int, scale: float
) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial
    from multiprocessing import get_context

    from wayscore.navigation.ablations import VARIANTS, ablate, table
    from wayscore.navigation.table2 import Plan, data_file

    train = data_file(Plan(out, r2r), "r2r", "train")
    one = partial(
        ablate,
        out=out,
        references=train,
        graphs=graphs,
        views=views,
        updates=max(1, round(1_500 * scale)),
        progress=partial(typer.echo, err=True),
    )
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        wanted = [(name, seed) for seed in range(seeds) for name in VARIANTS if views is not None or name != "no views"]
        for done in [pool.submit(one, name, seed=seed) for name, seed in wanted]:
            done.result()
    typer.echo(table(out, seeds), nl=False)


def _draw(plan: Plan) -> None:
    """Draw the learning curves of both rewards, where matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    from wayscore.figures import save
    from wayscore.navigation.curves import figure_curves

    for dataset in plan.datasets:
        agents = {
            agent: [plan.out / f"{dataset}-{agent}-{seed}" for seed in range(plan.seeds)]
            for agent in ("goal", "fidelity")
        }
        save(figure_curves(agents), plan.out / f"curves-{dataset}.pdf")
