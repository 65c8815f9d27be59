"""`wayscore baseline`, `train`, `rollout` and `reproduce`: random, trained, and those of the paper's Table 2."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from wayscore.cli import options
from wayscore.cli.app import FILE, SEED, argument, option, verb, whole
from wayscore.cli.options import data_option, load, output_option
from wayscore.cli.output import progress, say, show
from wayscore.errors import MissingPackageError, OptionError
from wayscore.writing import write_whole

MOST_UPDATES = 1_000_000_000
UPDATES = whole(0, MOST_UPDATES)
training = partial(option, section="Training")
note = partial(say, err=True)
"""Prints the progress of trainings, also from other processes."""


@verb("wayscore baseline random --references R2R_val_unseen.json --graphs connectivity/")
@argument("agent", "random.", ["random"], metavar="AGENT", expose_value=False)
@options.references()
@options.data
@options.convention
@options.threshold
@option("--episodes", "Number of random walks.", whole(1, 100_000_000), 1_000_000)
@option("--seed", "Random seed of the walks.", SEED, 0)
@options.means_form
@output_option("--run", "Also write one walk per reference, as a result file.", FILE)
def baseline(
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    convention: str | None,
    threshold: float | None,
    episodes: int,
    seed: int,
    form: str,
    run: Path | None,
) -> None:
    """Score random walks, and print the random row of the paper's Table 2 beside them.

    A walk starts where its reference starts and moves to uniformly drawn neighbours; its number of nodes is drawn from
    those of all references. The same seed gives the same numbers on any machine.
    """
    from wayscore.lab.agents.baselines import TABLE_2, evaluate_random, write_random_run
    from wayscore.report.results import render

    truth, distance = load(references, graphs, reader, convention)
    if distance is None:
        raise OptionError(f"{truth.name}: random walks need graphs, and its paths are coordinates")
    result = evaluate_random(truth, distance, walks=episodes, seed=seed, convention=convention, threshold=threshold)
    if run is not None:
        write_random_run(run, truth, distance, seed=seed)
    show(partial(render, [result]), form)
    if form == "text" and truth.format in TABLE_2 and convention in (None, "paper"):
        say(_beside_the_paper(result.means(), TABLE_2[truth.format]))


def _beside_the_paper(means: Mapping[str, float | None], paper: Mapping[str, float]) -> str:
    """Return our means above the paper's, in percent, and why one of its numbers cannot be reached."""
    rows = {
        "": list(paper),
        "wayscore": [f"{100 * (means[symbol] or 0):.2f}" for symbol in paper],
        "paper": [f"{value:.1f}" for value in paper.values()],
    }
    lines = [f"{name:10}" + "".join(f"{cell:>8}" for cell in cells) for name, cells in rows.items()]
    slip = "The SED cells differ: the paper's random rows print SED above SR, which its own formula cannot give, since"
    why = "SED is SR times a factor between 0 and 1."
    return "\n".join(["\nBeside the paper's Table 2, in percent", *lines, slip, why])


@verb(
    "wayscore train runs/fidelity --references R2R_train.json --graphs connectivity/ --reward fidelity",
    "wayscore train runs/worlds --worlds --imitation 500 --reinforcement 500",
)
@argument("out", "Folder for the checkpoint and the learning curve.", FILE)
@options.references(required=False, note="; a training split.")
@options.graphs
@options.views
@options.worlds
@training("--reward", "Reward of the second stage: goal, fidelity or the name of another.", default="fidelity")
@training(
    "--teacher",
    "What the first stage imitates: the references (faithful) or shortest paths to their goals.",
    ["faithful", "shortest"],
    "shortest",
)
@training("--imitation", "Updates of the first stage, imitation.", UPDATES, 2_000)
@training("--reinforcement", "Updates of the second stage, with the reward.", UPDATES, 1_000)
@training("--start", "Folder of a trained agent to start from.", FILE, metavar="DIR")
@training("--held-out", "Houses that are only used for evaluation.", whole(0, 1_000_000), 8)
@training(
    "--max-episode-steps",
    "Largest number of moves per episode in training; evaluations allow 30.",
    whole(1, 100_000),
    15,
)
@training("--words", "Words of an instruction that the agent reads.", whole(1, 10_000), 80)
@training("--every", "Updates between evaluations and checkpoints.", whole(1, MOST_UPDATES), 250)
@training("--seed", "Random seed of the training.", SEED, 0)
@option("--resume", "Continue from the checkpoint in OUT.", bool)
@option("--tensorboard", "Also write the learning curve for TensorBoard, to OUT/tensorboard.", bool)
def train(
    out: Path,
    references: str | None,
    graphs: str | None,
    views: Path | None,
    worlds: bool,
    start: Path | None,
    held_out: int,
    words: int,
    resume: bool,
    tensorboard: bool,
    **settings: Any,
) -> None:
    """Train an agent by imitation of a teacher, then with a reward.

    The learning curve is written to OUT/curve.csv. OUT/checkpoint.pt contains everything that --resume needs.
    """
    from wayscore.lab.agents.checkpoints import need_torch
    from wayscore.lab.agents.data import data_from_files, data_from_worlds

    need_torch()
    from wayscore.lab.agents.checkpoints import CHECKPOINT, Recipe, load_checkpoint, reading_checkpoint
    from wayscore.lab.agents.training import Trainer
    from wayscore.rewards.tasks import WORLD_THRESHOLD

    if worlds == (references is not None):
        raise OptionError("give either --references FILE (and --graphs) or --worlds")
    if not resume and (out / CHECKPOINT).exists():
        raise OptionError(f"{out}: has a checkpoint already; continue with --resume, or choose another folder")
    begun = {} if start is None else load_checkpoint(start)
    if references is None:
        data = data_from_worlds()
    else:
        read: dict[str, Any] = {"known": begun.get("vocabulary"), "weights": begun.get("word_weights"), "words": words}
        data = data_from_files(references, graphs, views=views, held_out=held_out, **read)
    recipe = Recipe(threshold=WORLD_THRESHOLD if worlds else 3.0, **settings)
    with nullcontext() if start is None else reading_checkpoint(start):
        trainer = Trainer(data.train, recipe, dev=data.dev, sight=data.sight, start=begun.get("policy"))
    if resume:
        with reading_checkpoint(out):
            trainer.resume(out)
    log: Any = None
    if tensorboard:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingPackageError("--tensorboard needs the package tensorboard; pip install tensorboard") from None
        log = SummaryWriter(str(out / "tensorboard"))
    with progress(trainer.total - trainer.updates) as tell:

        def report(update: int, row: dict[str, float | int | str] | None) -> None:
            tell(f"update {update}")
            if row is None:
                return
            numbers = {name: value for name, value in row.items() if not isinstance(value, str)}
            say(f"{row['stage']}  " + "  ".join(f"{name} {value:.4g}" for name, value in numbers.items()))
            if log is not None:
                for name, value in numbers.items():
                    log.add_scalar(name, value, update)

        trainer.run(out, report)
    if log is not None:
        log.close()
    if drawn := draw_curves({out.name: [out]}, out / "curve.svg"):
        say(f"{drawn}: the learning curve")


def draw_curves(trainings: dict[str, list[Path]], file: Path) -> Path | None:
    """Draw the learning curves of trainings, if matplotlib is installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return None
    from wayscore.figures import save
    from wayscore.lab.agents.checkpoints import figure_of, read_curve

    return save(figure_of({name: [read_curve(one) for one in folders] for name, folders in trainings.items()}), file)


@verb(
    "wayscore rollout runs/fidelity --references R2R_val_unseen.json --graphs connectivity/ -o run.json",
    "wayscore rollout runs/seed-0 runs/seed-1 -r R2R_val_unseen.json -g connectivity/ -o run.json",
)
@argument(
    "agents",
    "Folders of trained agents, written by `wayscore train`; several agents decide together.",
    FILE,
    nargs=-1,
    required=True,
    metavar="AGENT...",
)
@options.references()
@options.data
@options.views
@option("--max-episode-steps", "Largest number of moves per episode; by default 30.", whole(1, 100_000))
@option(
    "--beam",
    "Plan ahead: imagine this many walks at once and take the likeliest (beam search), in a house that is known.",
    whole(1, 100),
)
@option("--mirror", "Agents also decide about the mirror image of what they read and see.", bool)
@options.out("Result file to write.", required=True)
def rollout(
    agents: Sequence[Path],
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    views: Path | None,
    max_episode_steps: int | None,
    beam: int | None,
    mirror: bool,
    out: Path,
) -> None:
    """Run a trained agent on every episode and write its trajectories as a result file, in the format of R2R.

    Several agents decide together: at each step they take the action that has the largest product of their
    probabilities. They must read the same words, as seeds of one training do.

    With --beam, an agent looks ahead along the graph before it walks, and walks less. Report it: an agent that knows
    the house cannot be compared with one that explores it.
    """
    from dataclasses import replace

    from wayscore.formats.trajectories import encode_run
    from wayscore.lab.agents.checkpoints import need_torch

    need_torch()
    from wayscore.lab.agents.agent import load_agent
    from wayscore.lab.agents.data import tasks_for

    agent = load_agent(*agents)
    for folder, policy in zip(agents, agent.policies, strict=True):
        if policy.shape.seen != (views is not None):
            raise OptionError(
                f"{folder}: was trained {'with' if policy.shape.seen else 'without'} views; "
                f"{'give them with --views TAR' if policy.shape.seen else 'leave --views out'}"
            )
    if max_episode_steps is not None:
        agent = replace(agent, recipe=replace(agent.recipe, max_test_steps=max_episode_steps))
    data = load(references, graphs, reader)
    tasks, sight = tasks_for(*data, agent.vocabulary, words=agent.words, views=views, weights=agent.weights)
    paths = dict(zip(tasks.names, agent.paths(tasks, sight, beam=beam, mirror=mirror), strict=True))
    write_whole(out, encode_run(paths))
    say(f"{out}: {len(paths)} trajectories")


@verb(
    "wayscore reproduce table2 --r2r data/r2r --graphs connectivity/ --views views.tar.gz -o table2",
    "wayscore reproduce table2 --worlds -o table2-worlds",
)
@argument("what", "Experiment to run.", ["table2", "search", "ablations"], metavar="table2|search|ablations")
@data_option("--r2r", "Folder with R2R_train.json and R2R_val_unseen.json, gzipped or not.", FILE, metavar="DIR")
@options.graphs
@options.views
@options.worlds
@training("--seeds", "Random seeds per agent; by default 5, for ablations 1.", whole(1, 10_000))
@training("--workers", "Trainings that run at once, one core each.", whole(1, 1_024), 2)
@training("--only", "Only this training of table2, such as r2r-goal-0, and those that it starts from.", metavar="NAME")
@training("--scale", "Factor for all numbers of updates; below 1 for a quick look.", float, 1.0)
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
    from wayscore.lab.agents.checkpoints import CURVE, need_torch

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
    for dataset in plan.datasets:
        agents = {
            agent: [one for one in plan.folders(dataset, agent) if (one / CURVE).exists()] for agent in table2.TOGETHER
        }
        if trained := {agent: folders for agent, folders in agents.items() if folders}:
            draw_curves(trained, out / f"curves-{dataset}.pdf")
    show(table2_results.document(results, details=form == "text").render, form)
