"""The settings of a training and its files: checkpoint and learning curve."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wayscore.errors import FormatError, MissingPackageError, WayscoreError, first_line
from wayscore.reading import check_file, read_bytes, size_limit, too_large
from wayscore.writing import write_whole


def need_torch() -> None:
    """Raise an error that says how to install PyTorch, if it is missing or cannot be imported."""
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        why = "is not installed" if missing else f"cannot be imported ({first_line(error)})"
        raise MissingPackageError(f"training needs PyTorch, which {why}: pip install 'wayscore[navigation]'") from None


@dataclass(frozen=True)
class Recipe:
    """The settings of a training; the defaults are those for R2R."""

    reward: str = "fidelity"  # the reward function of the second stage, by name
    teacher: Literal["faithful", "shortest"] = "faithful"  # follows the reference, or goes to its end
    imitation: int = 2_000  # updates of the first stage
    reinforcement: int = 1_000  # updates of the second stage
    batch: int = 64  # episodes per update
    student: float = 0.5  # share of batches of the first stage in which the agent takes its own actions
    rate: float = 2e-3  # learning rate of the first stage, which decreases linearly to 0
    reinforcement_rate: float = 1e-3  # learning rate of the second stage, which decreases linearly to 0
    guidance: float = 0.3  # weight of the imitation loss in the second stage
    guided: float = 0.3  # share of the second stage's updates that have an imitation loss
    discount: float = 0.95  # discount factor of later rewards
    entropy: float = 0.01  # weight of the entropy bonus
    value: float = 0.25  # weight of the value loss
    word_dropout: float = 0.0  # share of words that are replaced by the unknown word
    mirror: bool = True  # whether half of the batches have left and right exchanged
    without: tuple[str, ...] = ()  # features that are hidden from the agent (see `FEATURES`), or "words", for ablations
    embedding: int = 64  # size of a word's embedding
    hidden: int = 128  # size of a state
    dropout: float = 0.0  # share of a state that is dropped
    threshold: float = 3.0  # d_th, metres
    max_episode_steps: int = 15  # largest number of moves per episode in training
    max_test_steps: int = 30  # the same in evaluations; so large that metrics hardly depend on it
    every: int = 250  # updates between evaluations and checkpoints
    seed: int = 0  # random seed of the training


CHECKPOINT, CURVE = "checkpoint.pt", "curve.csv"
"""The files of a training in its folder."""
NEEDED = {"recipe", "shape", "vocabulary", "words", "word_weights", "policy"}
"""What a checkpoint has at least."""
LONGEST = 10_000
"""The most words of an instruction that an agent may read."""


def write_checkpoint(path: Path, state: Any) -> None:
    """Write a checkpoint, completely or not at all: one that is there stays until the new one is on the disk."""
    import torch

    content = io.BytesIO()
    torch.save(state, content)
    write_whole(path, content.getvalue())


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Read a checkpoint, or that of an agent's folder."""
    import torch

    file = folder / CHECKPOINT if folder.is_dir() else folder
    try:
        state: dict[str, Any] = torch.load(file, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no checkpoint; train an agent first (wayscore train)") from None
    except Exception as error:
        raise FormatError(f"{file}: is not a checkpoint of wayscore ({error})") from None
    if not isinstance(state, dict) or not NEEDED <= set(state):
        raise FormatError(f"{file}: is not a checkpoint of this version of wayscore; train the agent again")
    return state


@contextmanager
def reading_checkpoint(path: Path) -> Iterator[None]:
    """Refuse a checkpoint, or that of an agent's folder, that would fill the memory or does not fit its reader."""
    file = path / CHECKPOINT if path.is_dir() else path
    if file.exists():
        check_file(file)
        size = 0  # of what cannot be opened, of which the reader says what is wrong
        with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError), zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > (most := size_limit()):
            raise too_large(str(file), most, " when decompressed")
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError) as error:
        if isinstance(error, WayscoreError):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise FormatError(
            f"{file}: is not a checkpoint of this agent ({what}); give one that `wayscore train` wrote"
        ) from None


SIZE_LIMIT = 2**28
"""Bytes that a curve may have; one of a day of training has a million."""
SHOWN = ("SR", "nDTW", "SDTW")


def read_curve(folder: Path) -> dict[str, list[float]]:
    """Return the columns of a training's curve, numbers only.

    Raises:
        FormatError: the file is missing, or has no rows yet.
    """
    path = folder / CURVE
    try:
        rows = list(csv.DictReader(io.StringIO(read_bytes(path, SIZE_LIMIT).decode())))
        columns = {name: [float(row[name] or "nan") for row in rows] for name in (rows or [{}])[0] if name != "stage"}
    except WayscoreError:
        raise
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise FormatError(f"{path}: is not a learning curve ({first_line(error)}); train the agent again") from None
    if not rows:
        raise FormatError(f"{path}: has no rows yet; wait for the first evaluation")
    return columns


def figure_of(curves: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> Any:
    """Draw SR, nDTW and SDTW in held-out houses against updates, one line per agent with a band over its seeds."""
    from wayscore.figures import PAGE, draw_learning_curves, new_figure, style

    with style():
        figure = new_figure(PAGE, 2.2)
        axes = figure.subplots(1, len(SHOWN))
        for ax, metric in zip(axes, SHOWN, strict=True):
            lines = {}
            for name, seeds in curves.items():
                length = min(len(seed["update"]) for seed in seeds)  # some trainings may be further than others
                lines[name] = (seeds[0]["update"][:length], [seed[metric][:length] for seed in seeds])
            draw_learning_curves(ax, lines, x="update", y=metric)
    figure.set_label("Learning curves in held-out houses: the lines are means over seeds, the bands their ranges.")
    return figure
