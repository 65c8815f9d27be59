"""`wayscore train`: an agent that follows instructions, by imitation and then by a reward."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from wayscore.cli import options
from wayscore.cli.app import SEED, argument, option, verb, whole
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import progress, say
from wayscore.errors import MissingPackageError, OptionError

MOST_UPDATES = 1_000_000_000
UPDATES = whole(0, MOST_UPDATES)
training = partial(option, section="Training")


@verb(
    "wayscore train runs/fidelity --references R2R_train.json --graphs connectivity/ --reward fidelity",
    "wayscore train runs/worlds --worlds --imitation 500 --reinforcement 500",
)
@argument("out", type=FILE, help="Folder for the checkpoint and the learning curve.")
@options.references(required=False, note="; a training split.")
@options.graphs
@options.views
@options.worlds
@training("--reward", default="fidelity", help="Reward of the second stage: goal, fidelity or the name of another.")
@training(
    "--teacher",
    type=OneOf(["faithful", "shortest"]),
    default="shortest",
    help="What the first stage imitates: the references (faithful) or shortest paths to their goals.",
)
@training("--imitation", type=UPDATES, default=2_000, help="Updates of the first stage, imitation.")
@training("--reinforcement", type=UPDATES, default=1_000, help="Updates of the second stage, with the reward.")
@training("--start", type=FILE, metavar="DIR", help="Folder of a trained agent to start from.")
@training("--held-out", type=whole(0, 1_000_000), default=8, help="Houses that are only used for evaluation.")
@training(
    "--max-episode-steps",
    type=whole(1, 100_000),
    default=15,
    help="Largest number of moves per episode in training; evaluations allow 30.",
)
@training("--words", type=whole(1, 10_000), default=80, help="Words of an instruction that the agent reads.")
@training("--every", type=whole(1, MOST_UPDATES), default=250, help="Updates between evaluations and checkpoints.")
@training("--seed", type=SEED, default=0, help="Random seed of the training.")
@option("--resume", is_flag=True, help="Continue from the checkpoint in OUT.")
@option("--tensorboard", is_flag=True, help="Also write the learning curve for TensorBoard, to OUT/tensorboard.")
def train(
    out: Path,
    references: str | None,
    graphs: str | None,
    views: Path | None,
    worlds: bool,
    reward: str,
    teacher: Any,
    imitation: int,
    reinforcement: int,
    start: Path | None,
    held_out: int,
    max_episode_steps: int,
    words: int,
    every: int,
    seed: int,
    resume: bool,
    tensorboard: bool,
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
    known, weights = begun.get("vocabulary"), begun.get("word_weights")
    data = (
        data_from_worlds()
        if references is None
        else data_from_files(
            references, graphs, views=views, held_out=held_out, words=words, known=known, weights=weights
        )
    )
    recipe = Recipe(
        reward=reward,
        teacher=teacher,
        imitation=imitation,
        reinforcement=reinforcement,
        threshold=WORLD_THRESHOLD if worlds else 3.0,
        max_episode_steps=max_episode_steps,
        every=every,
        seed=seed,
    )
    with nullcontext() if start is None else reading_checkpoint(start):
        trainer = Trainer(data.train, recipe, dev=data.dev, sight=data.sight, start=begun.get("policy"))
    if resume:
        with reading_checkpoint(out):
            trainer.resume(out)
    log = _tensorboard(out) if tensorboard else None
    with progress(trainer.total - trainer.updates) as tell:

        def report(update: int, row: dict[str, float | int | str] | None) -> None:
            tell(f"update {update}")
            if row is None:
                return
            numbers = {name: value for name, value in row.items() if not isinstance(value, str)}
            say(f"{row['stage']}  " + "  ".join(f"{name} {value:.4g}" for name, value in numbers.items()))
            for name, value in numbers.items():
                if log is not None:
                    log.add_scalar(name, value, update)

        trainer.run(out, report)
    if log is not None:
        log.close()
    _draw(out)


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingPackageError("--tensorboard needs the package tensorboard; pip install tensorboard") from None
    return SummaryWriter(str(out / "tensorboard"))


def _draw(out: Path) -> None:
    """Draw the curve, where matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    from wayscore.figures import save
    from wayscore.lab.agents.checkpoints import figure_of, read_curve

    say(f"{save(figure_of({out.name: [read_curve(out)]}), out / 'curve.svg')}: the learning curve")
