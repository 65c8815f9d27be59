"""`wayscore baseline`: agents that need no training, to compare others with."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wayscore.cli import options
from wayscore.cli.app import SEED, argument, option, verb, whole
from wayscore.cli.options import FILE, OneOf, load
from wayscore.cli.output import say, show
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.evaluation.result import Result


@verb("wayscore baseline random --references R2R_val_unseen.json --graphs connectivity/")
@argument("agent", type=OneOf(["random"]), metavar="AGENT", help="random.")
@options.references()
@options.data
@options.convention
@options.threshold
@option("--episodes", type=whole(1, 100_000_000), default=1_000_000, help="Number of random walks.")
@option("--seed", type=SEED, default=0, help="Random seed of the walks.")
@options.form()
@option(
    "--run", type=FILE, metavar="FILE", section="Output", help="Also write one walk per reference, as a result file."
)
def baseline(
    agent: str,  # noqa: ARG001 - there is one
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
    from wayscore.report import render

    truth, distance = load(references, graphs, reader, convention)
    if distance is None:
        raise OptionError(f"{truth.name}: random walks need graphs, and its paths are coordinates")
    result = evaluate_random(truth, distance, walks=episodes, seed=seed, convention=convention, threshold=threshold)
    if run is not None:
        write_random_run(run, truth, distance, seed=seed)
    show(partial(render, [result]), form)
    if form == "text" and truth.format in TABLE_2 and convention in (None, "paper"):
        say(_beside_the_paper(result, TABLE_2[truth.format]))


def _beside_the_paper(result: Result, paper: dict[str, float]) -> str:
    """Return our means above the paper's, in percent, and why one of its numbers cannot be reached."""
    means = result.means()
    rows = {
        "": list(paper),
        "wayscore": [f"{100 * (means[symbol] or 0):.2f}" for symbol in paper],
        "paper": [f"{value:.1f}" for value in paper.values()],
    }
    lines = [f"{name:10}" + "".join(f"{cell:>8}" for cell in cells) for name, cells in rows.items()]
    slip = (
        "The SED cells differ: the paper's random rows print SED above SR, which its own formula cannot give, since\n"
        "SED is SR times a factor between 0 and 1."
    )
    return "\n".join(["\nBeside the paper's Table 2, in percent", *lines, slip])
