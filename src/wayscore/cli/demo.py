"""`wayscore demo`: scores and compares runs in generated worlds, without any data."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayscore.cli import options
from wayscore.cli.app import SEED, option, verb, whole
from wayscore.cli.options import load
from wayscore.cli.output import show

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.differences import PairedDifference
    from wayscore.evaluation.result import Result
    from wayscore.report.document import Document, Part, Row, Table
    from wayscore.worlds.files import Course

PAGE = "report.html"
RIVALS = "noisy", "shortest"
"""Two walkers that metrics disagree about: one follows the instruction, the other takes the shortest path."""

FAULTS = {
    "perfect": "follows the instruction",
    "noisy": "takes one step in five at random",
    "detour": "visits a node three edges away",
    "overshoot": "walks four edges too far",
    "early_stop": "stops halfway",
    "shortest": "takes the shortest path",
    "reversed_walk": "walks from goal to start",
    "random_walk": "walks at random",
}
SIGNIFICANT = 0.05


@verb("wayscore demo", "wayscore demo --seed 7 --out elsewhere")
@option("--seed", "Random seed of the worlds, paths, instructions and mistakes.", SEED, 0)
@option("--episodes", "Number of instructions that each walker follows, two per path.", whole(1, 100_000), 200)
@options.out("Folder to write to; only files of an earlier demo are overwritten.", default=Path("wayscore-demo"))
def demo(out: Path, seed: int, episodes: int) -> None:
    """Generate worlds and runs, score them, compare them and write a report: needs no data and takes two seconds.

    Eight scripted walkers with known faults follow instructions through four worlds, generated as in the paper. The
    worlds, references and runs are written in the formats of Matterport3D and R2R, then scored and compared. The output
    shows which metrics notice which fault, and commands to try next. report.html shows every episode in a browser.
    """
    from wayscore.evaluation.comparison import compare
    from wayscore.evaluation.evaluator import evaluate
    from wayscore.report.page import write_page
    from wayscore.worlds import WALKERS
    from wayscore.worlds.files import Course, course_files, write_files

    course = Course(seed, episodes)
    write_files(out, course_files(course), others=[PAGE])
    references, graphs = load(str(out / "references.json"), str(out / "connectivity"), {})
    # A reversed walk does not start where its reference starts. It is scored all the same; its signature says so.
    settings: dict[str, Any] = {"threshold": course.threshold, "start": "keep"}
    results = {
        name: evaluate(out / "runs" / f"{name}.json", references, graphs, name=name, **settings) for name in WALKERS
    }
    found = [*results.values()]
    comparison, rivals = compare(found), compare([results[name] for name in RIVALS])
    title = f"wayscore demo: {len(found)} walkers in {len(course.worlds)} generated worlds"
    write_page(out / PAGE, found, comparison=comparison, title=title)
    show(lambda form, width, color: document(out, course, found, comparison, rivals, width).render(form, width, color))


def document(
    out: Path, course: Course, results: Sequence[Result], comparison: Comparison, rivals: Comparison, width: int
) -> Document:
    """Return what the demo prints: the scores, which metrics notice which fault, and what to try next."""
    from textwrap import fill

    from wayscore.errors import listed
    from wayscore.metrics import METRICS
    from wayscore.report.document import Document, Line, Table
    from wayscore.report.layout import counted, interval, number

    paths = counted(len(course.tasks), "path")
    examples = ((task.scan, words) for task in course.tasks for words in task.instructions)
    scan, words = min(examples, key=lambda example: len(example[1]))
    parts: list[Part] = [
        Line(
            f"{len(results)} walkers in {len(course.worlds)} generated worlds: "
            f"{counted(course.episodes, 'instruction')} for {paths}, seed {course.seed}",
            "bold",
        ),
        Line(f'For example in {scan}: "{words}"', "dim"),
        *_scores(results, width),
    ]

    judges = [test.metric for test in comparison.of(comparison.others[0]).values() if test.outcomes]
    verdicts = {run: {symbol: _verdict(comparison.of(run)[symbol]) for symbol in judges} for run in comparison.others}
    room = max(width - max(map(len, FAULTS)) - max(map(len, FAULTS.values())) - 4, 20)
    rows = []
    for name, signs in verdicts.items():
        blind = [f"{symbol} (prefers it)" if sign else symbol for symbol, sign in signs.items() if sign >= 0]
        rows.append([name, FAULTS[name], fill(" ".join(blind) or "-", room)])
    parts += [
        f"Which metrics show that a walker is not {comparison.baseline} (p < {SIGNIFICANT:g}, Holm's correction)?",
        Table(["walker", "its fault", "not noticed by"], rows, left=3),
    ]
    if sharp := [symbol for symbol in judges if all(found[symbol] < 0 for found in verdicts.values())]:
        parts.append(Line(f"{listed(sharp)} notice{'s' if len(sharp) == 1 else ''} every fault.", "bold"))

    (run,), base = rivals.others, rivals.baseline
    tests = rivals.of(run)
    preferred = []
    for name, sign in ((run, 1), (base, -1)):
        if symbols := [symbol for symbol, test in tests.items() if test.outcomes and _verdict(test) == sign]:
            preferred.append(f"{listed(symbols)} prefer{'s' if len(symbols) == 1 else ''} {name}")
    figures = []
    for metric in (METRICS["SR"], METRICS["nDTW"]):
        found = tests[metric.symbol].difference
        mean = number(metric, found.mean, signed=True)
        figures.append(f"{metric.symbol} {mean} {interval(metric, found, signed=True)} %")
    parts += [
        f"{run} or {base}? {'; '.join(preferred) or 'No metric shows a difference'}.",
        f"{run} minus {base}: {', '.join(figures)}",
    ]

    first = results[0].signature
    parts.append(Line(str(first) if len(str(first)) <= width else first.short(), "code"))
    for result in results[1:]:
        for key, (_, there) in first.differences(result.signature).items():
            why = "because it does not start where its references start"
            parts.append(Line(f"{result.name}: {key}:{there}, {why}", "dim"))

    files = {
        PAGE: "the report: open it in a browser",
        "references.json": f"{paths} with instructions, in the format of R2R",
        "connectivity": f"graphs of {len(course.worlds)} worlds, in the format of Matterport3D",
        "runs": f"result files of {len(results)} walkers, in the format of R2R",
    }
    room = len(str(out)) + 1 + max(map(len, files))
    lines = [*(f"{out / name!s:{room}}  {what}" for name, what in files.items()), ""]
    lines.append("Commands to try next, and then with your own files:")
    for comment, command in commands(out, course):
        lines += ["", f"# {comment}", *_shell([program(), *command], width).split("\n")]
    return Document([*parts, *(Line(line, "code") for line in lines)])


def _scores(results: Sequence[Result], width: int) -> tuple[str, Table]:
    """Return means with their intervals where one table holds them, else means alone."""
    from wayscore.report.document import Table, text_table
    from wayscore.report.layout import head, means_of

    metrics = results[0].metrics
    means = means_of(results, metrics)
    rows = [[head(metric), *cells] for metric, cells in zip(metrics, zip(*means, strict=True), strict=True)]
    whole = Table(["", *(result.name for result in results)], rows)
    if len(text_table(whole, width)) == 1:
        return "Means with 95 % bootstrap intervals, the best in bold:", whole
    heads = ["walker", *(head(metric).replace(" ", "\n", 1) for metric in metrics)]
    alone: list[Row] = [
        [result.name, *(cell._replace(below="") for cell in row)] for result, row in zip(results, means, strict=True)
    ]
    return f"Means, the best in bold; 95 % intervals are in {PAGE}:", Table(heads, alone)


def _verdict(test: PairedDifference) -> int:
    """Say whether a run does better than the baseline (1), worse (-1), or neither so that it could be shown (0)."""
    from wayscore.metrics import METRICS
    from wayscore.report.layout import number

    metric, mean = METRICS[test.metric], test.difference.mean
    if mean is None or test.p_holm is None or test.p_holm >= SIGNIFICANT or not float(number(metric, mean)):
        return 0  # also what prints as 0, which is rounding
    return 1 if (mean > 0) == (metric.direction == "up") else -1


def commands(out: Path, course: Course) -> list[tuple[str, list[str]]]:
    """Return what to try next: a comment, and the parts of a command that follow the program's name."""

    def path(name: str) -> str:
        return shlex.quote(str(out / name))

    noisy, shortest, backwards = (path(f"runs/{name}.json") for name in ("noisy", "shortest", "reversed_walk"))
    files = [f"--references {path('references.json')}", f"--graphs {path('connectivity')}"]
    scored = [*files, f"--threshold {course.threshold:g}"]
    tests = "compare two runs: paired tests, and the episodes that differ most"
    return [
        ("score one run, and print means for each world", ["score", noisy, *scored, "--split-by scan"]),
        (tests, ["compare", noisy, shortest, *scored]),
        ("list the problems for which a test server would refuse a run", ["validate", backwards, *files]),
    ]


def program() -> str:
    """Return how this command is called here: by its name where the shell finds it."""
    if shutil.which("wayscore"):
        return "wayscore"
    if os.path.basename(sys.argv[0]) == "wayscore":
        return shlex.quote(sys.argv[0])
    return f"{shlex.quote(sys.executable)} -m wayscore"


def _shell(parts: Sequence[str], width: int) -> str:
    r"""Return a command for a shell, over several lines where it is wide.

    >>> print(_shell(["wayscore score", "a.json", "--references b.json"], 32))
    wayscore score a.json \
        --references b.json
    """
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 > width:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return " \\\n".join(lines)
