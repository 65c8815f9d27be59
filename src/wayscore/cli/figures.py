"""`wayscore figures`: the paper's figures in generated worlds, or figures of a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.app import SEED, argument, option, verb, whole
from wayscore.cli.options import load, words
from wayscore.cli.output import say, warn
from wayscore.errors import OptionError, must_be

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("warping", "comparison", "gallery", "matrix", "metrics")
"""What is drawn in generated worlds: the paper's three figures, its Algorithm 1, and nDTW against other metrics."""
OF_A_RUN = ("gallery", "metrics")
POLICIES: dict[str, Any] = {
    "missing": "skip",
    "unknown": "skip",
    "duplicate": "keep",
    "start": "keep",
    "move": "keep",
    "node": "skip",
}
"""Pictures are of what is there; a warning names what is left out."""


@verb(
    "wayscore figures --format pdf,png",
    "wayscore figures results.json --references R2R_val_unseen.json --graphs connectivity/ --which gallery",
)
@argument("run", required=False, help="Result file; without one, worlds are generated.")
@options.references(required=False)
@options.data
@options.run_format
@options.convention
@options.threshold
@options.path_step
@option(
    "--which",
    multiple=True,
    callback=partial(words, known=WORLDS),
    metavar="NAMES",
    section="Figures",
    help=f"Figures to draw: {', '.join(WORLDS)}; of a run {' and '.join(OF_A_RUN)}; all by default.",
)
@option("--count", type=whole(1, 200), default=24, section="Figures", help="Pairs of a gallery.")
@option(
    "--x",
    multiple=True,
    callback=words,
    default=["SR,NE,CLS"],
    metavar="SYMBOLS",
    section="Figures",
    help="Metrics of the horizontal axes of `metrics`.",
)
@option("--y", default="nDTW", metavar="SYMBOL", section="Figures", help="Metric of the vertical axis of `metrics`.")
@option("--seed", type=SEED, default=0, section="Figures", help="Random seed of the generated worlds.")
@option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    callback=partial(words, known=("pdf", "svg", "png")),
    default=["pdf"],
    metavar="pdf|svg|png",
    section="Output",
    help="Formats of the files.",
)
@options.out("Folder to write to.", default=Path("figures"))
@options.up
@options.dpi
def figures(
    run: str | None,
    references: str | None,
    graphs: str | None,
    which: list[str] | None,
    count: int,
    x: list[str],
    y: str,
    seed: int,
    formats: list[str],
    out: Path,
    dpi: int,
    **settings: Any,
) -> None:
    """Draw the paper's figures in generated worlds, or figures of a run, as files for papers with their captions.

    The same seed gives the same files, byte for byte.
    """
    from wayscore.figures.style import need_matplotlib, save

    names = which or list(WORLDS if run is None else OF_A_RUN)
    need_matplotlib()
    if run is None:
        if references is not None or graphs is not None:
            raise OptionError("--references and --graphs go with a run; name its result file too")
        drawn = {name: _simulated(name, seed, count, tuple(x), y) for name in names}
    else:
        if other := [name for name in names if name not in OF_A_RUN]:
            raise click.UsageError(must_be("--which of a run", OF_A_RUN, other[0]))
        if references is None:
            raise OptionError(f"{run}: to draw a run, give its references with --references FILE")
        drawn = _of_run(run, references, graphs, names, count=count, x=x, y=y, **settings)
    for name, figure in drawn.items():
        for form in formats:
            say(str(save(figure, out / f"{name}.{form}", dpi=dpi)))
        say(f"    {figure.get_label()}\n")


def _simulated(name: str, seed: int, count: int, x: tuple[str, ...], y: str) -> Figure:
    from wayscore.figures import simulated

    if name == "gallery":
        return simulated.figure_gallery(seed, count)
    if name == "metrics":
        return simulated.figure_walkers(seed, x=x, y=y)
    draw = {
        "warping": simulated.figure_warping,
        "comparison": simulated.figure_comparison_set,
        "matrix": simulated.figure_matrix,
    }
    return draw[name](seed)


def _of_run(
    run: str,
    references: str,
    graphs: str | None,
    names: list[str],
    *,
    reader: dict[str, str],
    convention: str | None,
    count: int,
    x: list[str],
    y: str,
    up: Any,
    **settings: Any,
) -> dict[str, Figure]:
    from wayscore.evaluation.evaluator import evaluate
    from wayscore.figures.runs import figure_run_gallery, figure_run_metrics

    settings |= {
        "convention": convention,
        "metrics": [*dict.fromkeys([*x, y, "nDTW"] if "metrics" in names else ["nDTW"])],
    }
    truth, distances = load(references, graphs, reader, convention)
    result = evaluate(run, truth, distances, **POLICIES, **settings)
    left_out = [kind for kind in ("missing", "unknown", "node") if result.problems.counts.get(kind)]
    warn(f"{result.problems.sentence(kind, truth.name, len(truth.episodes))}; left out" for kind in left_out)
    draw = {
        "gallery": lambda: figure_run_gallery(result, count=count, up=up),
        "metrics": lambda: figure_run_metrics(result, x=x, y=y),
    }
    return {name: draw[name]() for name in names}
