"""`wayscore baseline`: agents that need no training, to compare others with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.cli.score import ConventionOption, FormatOption, GraphsOption, ReferencesOption, ThresholdOption, show
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.report import Summary


def baseline(
    what: Annotated[str, typer.Argument(help="random.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
    episodes: Annotated[int, typer.Option(help="How many random walks.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Of all draws.")] = 0,
    convention: ConventionOption = "paper",
    threshold: ThresholdOption = None,
    form: FormatOption = "text",
    run: Annotated[
        Path | None, typer.Option("--run", help="Write one walk for each reference here, as a result file.")
    ] = None,
) -> None:
    """Score a million random walks, and show the paper's row beside them.

    A walk starts where its reference starts and moves to uniformly drawn neighbours; how many places it has is drawn
    from all references, whatever its own reference has.

    Example: wayscore baseline random --references R2R_val_unseen.json --graphs connectivity/

    Args:
        what: random.
        references: what was asked for.
        graphs: connectivity files.
        episodes: how many walks, spread evenly over the references.
        seed: of all draws; the same seed gives the same numbers on any machine.
        convention: the set of choices to score by.
        threshold: success threshold, in the units of the distance.
        form: text, json, markdown or latex.
        run: where to write one walk for each reference, in the R2R result format.
    """
    from wayscore.evaluation.summary import summarize_sample
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for
    from wayscore.navigation.baselines import TABLE_2, score_random, write_random_run
    from wayscore.report import render
    from wayscore.report.render import check_form

    if what != "random":
        raise OptionError(f"there is no baseline {what!r}; known: random")
    check_form(form)
    asked = load_references(references)
    distance = distances_for(asked, graphs, convention)
    if distance is None:
        raise OptionError(f"{asked.name}: random walks need graphs, and its paths are coordinates")
    table = score_random(asked, distance, walks=episodes, seed=seed, convention=convention, threshold=threshold)
    if run is not None:
        write_random_run(run, asked, distance, seed=seed)
    summary = summarize_sample(table, f"random (seed {seed})", asked.name)
    show(lambda width, color: render([summary], form, width=width, color=color))
    if form == "text" and asked.format in TABLE_2 and convention == "paper":
        typer.echo(_beside_the_paper(summary, TABLE_2[asked.format]))


def _beside_the_paper(summary: Summary, paper: dict[str, float]) -> str:
    """Lay our means out above the paper's, in percent.

    SED of the paper exceeds its SR, which its own definition excludes; the other figures can be reached.
    """
    rows = {
        "": list(paper),
        "wayscore": [f"{100 * summary.metrics[symbol].mean:.2f}" for symbol in paper],
        "paper": [f"{value:.1f}" for value in paper.values()],
    }
    lines = [f"{name:10}" + "".join(f"{cell:>8}" for cell in cells) for name, cells in rows.items()]
    return "\n".join(["Beside the paper's Table 2, in percent", *lines])
