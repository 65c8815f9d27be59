"""Learning curves of trainings, drawn from the file curve.csv of each."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wayscore.errors import FormatError, WayscoreError, first_line
from wayscore.lab.agents.checkpoints import CURVE
from wayscore.reading import read_bytes

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


def figure_curves(agents: Mapping[str, Sequence[Path]]) -> Any:
    """Draw the learning curves of trainings; see `figure_of`.

    Args:
        agents: name -> the folders of its trainings, one per seed.
    """
    return figure_of({name: [read_curve(folder) for folder in folders] for name, folders in agents.items()})


def figure_of(curves: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> Any:
    """Draw SR, nDTW and SDTW in held-out houses against updates, one line per agent with a band over its seeds.

    Args:
        curves: agent -> the columns of its curves, one per seed.
    """
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
