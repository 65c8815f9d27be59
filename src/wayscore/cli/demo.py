"""`wayscore demo`: scripted walkers in the paper's world, scored by every metric, with no data at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from wayscore.metrics import Metric
    from wayscore.table import ScoreTable
    from wayscore.worlds import World


def demo(
    seed: Annotated[int, typer.Option(help="Makes the world, the references and every mistake.")] = 0,
    episodes: Annotated[int, typer.Option(help="How many references each walker is given.")] = 200,
    out: Annotated[Path | None, typer.Option(help="Save each walker's scores here, as Parquet.")] = None,
) -> None:
    """Score scripted walkers in the paper's simulated world.

    Each walker has a fault that is known in advance; the table shows which metrics notice it.

    Args:
        seed: makes the world, the references and every mistake; the same seed prints the same table.
        episodes: how many references each walker is given.
        out: a directory, made if need be, that receives `<walker>.parquet` files for `ScoreTable.load`.
    """
    from rich.console import Console

    from wayscore.metrics import METRICS
    from wayscore.worlds import World

    if episodes < 1:
        raise OptionError(f"episodes must be a whole number, 1 or more, got {episodes}; the default is 200")
    world = World.paper(seed)
    tables = score_walkers(world, episodes)
    console = Console(highlight=False)
    extent = f"{world.size} x {world.size} nodes, {len(world.graph.edges)} edges, seed {seed}"
    over = f"{episodes} episode{'s' if episodes > 1 else ''}"
    console.print(f"The paper's world ({extent}): means over {over}\n", soft_wrap=True)
    for table in layouts(console, tables, METRICS.values()):
        console.print(table)
        console.print()
    console.print(settings_line(tables), style="dim", soft_wrap=True)
    if out is not None:
        save(tables, out)
        console.print(f"Saved {len(tables)} tables in {out}", soft_wrap=True)


def score_walkers(world: World, episodes: int) -> dict[str, ScoreTable]:
    """Give every walker the same references and score it; chance comes from the world's seed.

    >>> from wayscore import World
    >>> tables = score_walkers(World.paper(seed=0), episodes=20)
    >>> tables["perfect"].means()["nDTW"], tables["shortest"].means()["SR"]
    (1.0, 1.0)
    """
    import numpy as np

    from wayscore.scoring import score
    from wayscore.worlds import WALKERS

    # A stream for each walker, so that one more walker leaves the others' scores alone.
    chance, *others = np.random.default_rng(world.seed).spawn(1 + len(WALKERS))
    references = [world.sample_path(chance) for _ in range(episodes)]
    return {
        name: score(
            references=references,
            queries=[walk(world, reference, rng) for reference in references],
            distance=world.graph,
            threshold=world.threshold,
        )
        for (name, walk), rng in zip(WALKERS.items(), others, strict=True)
    }


def layouts(console: Console, tables: Mapping[str, ScoreTable], metrics: Iterable[Metric]) -> list[Table]:
    """Return one table of all metrics where the console is wide enough, else one for each unit."""
    metrics = list(metrics)
    by_unit = [[metric for metric in metrics if is_share(metric) == share] for share in (True, False)]
    ascii_only, unbounded = console.options.ascii_only, console.options.update(width=1000)
    result: list[Table] = []
    for parts, space in (([metrics], 2), ([metrics], 1), (by_unit, 2), (by_unit, 1)):
        result = [means_table(tables, part, space, ascii_only) for part in parts]
        if all(console.measure(table, options=unbounded).maximum <= console.width for table in result):
            break
    return result


def means_table(
    tables: Mapping[str, ScoreTable], metrics: Sequence[Metric], space: int, ascii_only: bool = False
) -> Table:
    """Lay out the means: a row for each walker, a column for each metric, the best of each in bold."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    arrows = {"up": "^", "down": "v"} if ascii_only else {"up": "↑", "down": "↓"}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, space), pad_edge=False, show_edge=False)
    table.add_column("walker", no_wrap=True)
    columns = []
    for metric in metrics:
        unit = "%" if is_share(metric) else metric.unit
        arrow = arrows.get(metric.direction or "", "")
        table.add_column(f"{metric.symbol}\n{unit} {arrow}".rstrip(), justify="right", no_wrap=True)
        means = [scores.means()[metric.symbol] for scores in tables.values()]
        best = {"up": max(means), "down": min(means)}.get(metric.direction or "")
        shown = [show(metric, mean) for mean in means]
        winner = None if best is None else show(metric, best)  # equal as printed is equal
        columns.append([Text(cell, style="bold" if cell == winner else "") for cell in shown])
    for name, *cells in zip(tables, *columns, strict=True):
        table.add_row(name.replace("_", " "), *cells)
    return table


def is_share(metric: Metric) -> bool:
    """Whether a metric lies between 0 and 1, and so is printed in percent."""
    return metric.bounds == (0, 1)


def show(metric: Metric, value: float) -> str:
    """Print as the field does: shares in percent with one decimal, lengths with two.

    >>> from wayscore import METRICS
    >>> show(METRICS["nDTW"], 0.6065), show(METRICS["NE"], 3.14159)
    ('60.7', '3.14')
    """
    return f"{100 * value:.1f}" if is_share(metric) else f"{value:.2f}"


def settings_line(tables: Mapping[str, ScoreTable]) -> str:
    """Say in one line what made the numbers."""
    settings = next(iter(tables.values())).settings
    parts = [
        f"threshold {settings['threshold']:.3f} m",
        f"distance {' '.join(settings['distance'])}",
        f"convention {settings['convention']}",
        f"wayscore {settings['version']}",
    ]
    undefined = sum(sum(table.undefined().values()) for table in tables.values())
    return ", ".join(parts + ([f"{undefined} values undefined"] if undefined else []))


def save(tables: Mapping[str, ScoreTable], out: Path) -> None:
    """Write each table to `<out>/<walker>.parquet`."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.save(out / f"{name}.parquet")
    except OSError as error:
        reason = error.strerror or error
        raise OptionError(f"cannot save scores in {out}: {reason}; choose another directory") from None
