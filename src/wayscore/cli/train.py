"""`wayscore train`: an agent that follows instructions, by imitation and then by a reward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wayscore.cli.score import progress_bar
from wayscore.errors import MissingPackageError, OptionError


def train(
    out: Annotated[Path, typer.Argument(help="The folder to leave checkpoint and curve in.", show_default=False)],
    references: Annotated[
        Path | None, typer.Option("--references", "-r", help="A training split of R2R or R4R.")
    ] = None,
    graphs: Annotated[Path | None, typer.Option("--graphs", "-g", help="Connectivity files, or a tar of them.")] = None,
    views: Annotated[Path | None, typer.Option(help="Captions and detections of the views, a tar.")] = None,
    worlds: Annotated[bool, typer.Option("--worlds", help="Generated worlds and words; no data needed.")] = False,
    reward: Annotated[str, typer.Option(help="goal, fidelity, or another by name.")] = "fidelity",
    teacher: Annotated[str, typer.Option(help="Whom to imitate: faithful or shortest.")] = "shortest",
    imitation: Annotated[int, typer.Option(help="Updates of imitation.")] = 4_000,
    reinforcement: Annotated[int, typer.Option(help="Updates with the reward.")] = 4_000,
    start: Annotated[Path | None, typer.Option(help="A folder whose policy to begin with.")] = None,
    held_out: Annotated[int, typer.Option(help="Houses that are only looked at.")] = 8,
    most_steps: Annotated[int, typer.Option(help="Moves of an episode at most.")] = 10,
    words: Annotated[int, typer.Option(help="Words of an instruction that are read.")] = 80,
    every: Annotated[int, typer.Option(help="Updates between evaluations and checkpoints.")] = 250,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write the curve for TensorBoard too.")] = False,
) -> None:
    """Train an agent; progress is written to OUT/curve.csv and everything needed to go on to OUT/checkpoint.pt.

    Example: wayscore train runs/fidelity --references R2R_train.json --graphs connectivity/ --reward fidelity

    Example without data: wayscore train runs/worlds --worlds --imitation 500 --reinforcement 500

    Args:
        out: the folder to leave checkpoint and curve in.
        references: a training split of R2R or R4R.
        graphs: connectivity files.
        views: captions and detections of the views, which the instruction's words are matched with.
        worlds: train in generated worlds, with generated instructions.
        reward: the rule of the second stage.
        teacher: whom the first stage imitates.
        imitation: updates of the first stage.
        reinforcement: updates of the second stage.
        start: a folder whose policy to begin with, of the same words and sizes.
        held_out: houses that are only looked at.
        most_steps: moves that an episode has at most.
        words: words of an instruction that are read.
        every: updates between evaluations and checkpoints.
        seed: of everything that is drawn.
        resume: go on from the folder's checkpoint.
        tensorboard: write the curve for TensorBoard too, to OUT/tensorboard.
    """
    from wayscore.navigation.houses import lessons_from_files, lessons_from_worlds
    from wayscore.navigation.need import need_torch

    need_torch()
    from wayscore.navigation.recipe import Recipe
    from wayscore.navigation.tasks import WORLD_THRESHOLD
    from wayscore.navigation.training import Trainer, load_checkpoint

    if worlds == (references is not None):
        raise OptionError("give either --references FILE (and --graphs) or --worlds")
    if not resume and (out / "checkpoint.pt").exists():
        raise OptionError(f"{out}: has a checkpoint already; go on with --resume, or choose another folder")
    lessons = (
        lessons_from_worlds(seed=0)
        if references is None
        else lessons_from_files(references, graphs, views=views, held_out=held_out, words=words)
    )
    recipe = Recipe(
        reward=reward,
        teacher=teacher,  # type: ignore[arg-type]
        imitation=imitation,
        reinforcement=reinforcement,
        threshold=WORLD_THRESHOLD if worlds else 3.0,
        most_steps=most_steps,
        every=every,
        seed=seed,
    )
    begun = None if start is None else load_checkpoint(start)["policy"]
    trainer = Trainer(lessons.train, recipe, dev=lessons.dev, sight=lessons.sight, start=begun)
    if resume:
        trainer.resume(out)
    log = _tensorboard(out) if tensorboard else None
    with progress_bar(trainer.total - trainer.updates) as progress:

        def told(update: int, row: dict[str, float | int | str] | None) -> None:
            progress(f"update {update}")
            if row is None:
                return
            numbers = {name: value for name, value in row.items() if not isinstance(value, str)}
            typer.echo(f"{row['stage']}  " + "  ".join(f"{name} {value:.4g}" for name, value in numbers.items()))
            for name, value in numbers.items():
                if log is not None:
                    log.add_scalar(name, value, update)

        trainer.run(out, told)
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
    from wayscore.navigation.curves import figure_curves

    typer.echo(f"{save(figure_curves({out.name: [out]}), out / 'curve.svg')}: the curve")
