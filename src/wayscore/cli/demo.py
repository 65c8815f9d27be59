"""`wayscore demo`: the whole job on generated worlds, with no data at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wayscore.report import Comparison, ScoredRun, Summary
    from wayscore.worlds.files import Course

DEFAULT_OUT = Path("wayscore-demo")
PAGE = "report.html"
RIVALS = "noisy", "shortest"
"""Two walkers that metrics disagree about: one keeps to the way, the other goes straight for the goal."""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder that receives everything.")] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(help="Makes the worlds, the paths, the words and every mistake.")] = 0,
    episodes: Annotated[int, typer.Option(help="How many instructions every walker is given.")] = 200,
) -> None:
    """Do the whole job on generated worlds: no data, nothing to download, two seconds.

    Eight scripted walkers, each with a known fault, walk instructed paths through four of the paper's worlds.

    Worlds, references and runs are written as Matterport3D and R2R write theirs, then scored and compared.

    You see which metrics notice which fault, and get report.html to browse and commands to try on the files.

    Example: wayscore demo --seed 7 --out elsewhere

    Args:
        out: a folder, made if need be; of the files in it only those are rewritten that a demo made.
        seed: makes the worlds, the paths, the words and every mistake; the same seed makes the same files.
        episodes: how many instructions every walker is given; two of them describe one path.
    """
    from wayscore.cli.demo_text import tell
    from wayscore.distances.matterport import load_graphs
    from wayscore.formats import load_references
    from wayscore.report.page import write_page
    from wayscore.worlds.files import Course, course_files, write_files

    course = Course(seed, episodes)
    write_files(out, course_files(course), others=[PAGE])
    runs, summaries, comparison, rivals = score_walkers(out, course)
    references, graphs = load_references(out / "references.json"), load_graphs(out / "connectivity")
    title = f"wayscore demo: {len(runs)} walkers in {len(course.worlds)} generated worlds"
    write_page(out / PAGE, runs, summaries, references, graphs, comparison=comparison, title=title)
    tell(out, course, summaries, comparison, rivals)


def score_walkers(out: Path, course: Course) -> tuple[list[ScoredRun], list[Summary], Comparison, Comparison]:
    """Score the runs in a demo's folder, compare all with the perfect one, and the two rivals with each other."""
    import numpy as np

    from wayscore.report import compare_runs, score_runs, summarize
    from wayscore.worlds import WALKERS

    runs = {name: out / "runs" / f"{name}.json" for name in WALKERS}
    references, graphs, threshold = out / "references.json", out / "connectivity", course.threshold
    # A reversed walk does not begin where it was told to. That is kept, and its signature says so.
    scored = score_runs([*runs.values()], references, graphs=graphs, threshold=threshold, policies={"start": "keep"})
    summaries = [summarize(run.table, run.joined, rng=np.random.default_rng(0), name=run.name) for run in scored]
    comparison, rivals = (
        compare_runs([runs[name] for name in names], references, graphs=graphs, threshold=threshold, start="keep")
        for names in (WALKERS, RIVALS)
    )
    return scored, summaries, comparison, rivals
