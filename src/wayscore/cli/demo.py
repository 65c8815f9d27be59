"""`wayscore demo`: scores and compares runs in generated worlds, without any data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wayscore.cli import options
from wayscore.cli.output import show
from wayscore.cli.verb import SEED, option, verb, whole

if TYPE_CHECKING:
    from wayscore.evaluation import Comparison, Result
    from wayscore.worlds.files import Course

PAGE = "report.html"
RIVALS = "noisy", "shortest"
"""Two walkers that metrics disagree about: one follows the instruction, the other takes the shortest path."""


@verb("wayscore demo", "wayscore demo --seed 7 --out elsewhere")
@option("--seed", type=SEED, default=0, help="Random seed of the worlds, paths, instructions and mistakes.")
@option(
    "--episodes",
    type=whole(1, 100_000),
    default=200,
    help="Number of instructions that each walker follows, two per path.",
)
@options.out("Folder to write to; only files of an earlier demo are overwritten.", default=Path("wayscore-demo"))
def demo(out: Path, seed: int, episodes: int) -> None:
    """Generate worlds and runs, score them, compare them and write a report: needs no data and takes two seconds.

    Eight scripted walkers with known faults follow instructions through four worlds, generated as in the paper. The
    worlds, references and runs are written in the formats of Matterport3D and R2R, then scored and compared. The output
    shows which metrics notice which fault, and commands to try next. report.html shows every episode in a browser.
    """
    run_demo(out, seed, episodes)


def run_demo(out: Path, seed: int = 0, episodes: int = 200) -> None:
    """Write the files of a demo, score and compare its walkers, and print what that shows."""
    from wayscore.cli.demo_text import report
    from wayscore.report import write_page
    from wayscore.worlds.files import Course, course_files, write_files

    course = Course(seed, episodes)
    write_files(out, course_files(course), others=[PAGE])
    results, comparison, rivals = score_walkers(out, course)
    title = f"wayscore demo: {len(results)} walkers in {len(course.worlds)} generated worlds"
    write_page(out / PAGE, results, comparison=comparison, title=title)
    show(lambda _, width, color: report(out, course, results, comparison, rivals, width=width, color=color))


def score_walkers(out: Path, course: Course) -> tuple[list[Result], Comparison, Comparison]:
    """Score the runs in a demo's folder, compare all with the perfect one, and the two rivals with each other."""
    from wayscore.cli.inputs import load
    from wayscore.evaluation import compare, evaluate
    from wayscore.worlds import WALKERS

    references, graphs = load(str(out / "references.json"), str(out / "connectivity"), {})
    # A reversed walk does not start where its reference starts. It is scored all the same; its signature says so.
    results = {
        name: evaluate(
            out / "runs" / f"{name}.json", references, graphs, threshold=course.threshold, start="keep", name=name
        )
        for name in WALKERS
    }
    return [*results.values()], compare([*results.values()]), compare([results[name] for name in RIVALS])
