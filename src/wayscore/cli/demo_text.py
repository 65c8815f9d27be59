"""What `wayscore demo` prints: the scores, which metrics notice which fault, and what to try next."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from wayscore.metrics import METRICS, Metric
from wayscore.report.layout import best, counted, head, interval, is_share, number
from wayscore.report.terminal import Cell, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.evaluation import Comparison, Result
    from wayscore.evaluation.contrasts import Contrast
    from wayscore.worlds.files import Course

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


def report(
    out: Path,
    course: Course,
    results: Sequence[Result],
    comparison: Comparison,
    rivals: Comparison,
    *,
    width: int,
    color: bool = False,
) -> str:
    """Return everything that a demo prints.

    Args:
        out: the demo's folder.
        course: its worlds and instructions.
        results: of every walker.
        comparison: of every walker with the perfect one.
        rivals: of two walkers with each other.
        width: columns of the terminal.
        color: whether it has colours.
    """
    page = TextPage(width, color)
    _add_course(page, course, len(results))
    _add_scores(page, results)
    _add_faults(page, comparison)
    _add_rivals(page, rivals)
    _add_signature(page, results)
    _add_files(page, out, course, len(results))
    _add_commands(page, out, course)
    return str(page)


def _add_course(page: TextPage, course: Course, walkers: int) -> None:
    page.add(
        f"{walkers} walkers in {len(course.worlds)} generated worlds: "
        f"{counted(course.episodes, 'instruction')} for {counted(len(course.tasks), 'path')}, seed {course.seed}\n",
        style="bold",
    )
    examples = ((task.scan, words) for task in course.tasks for words in task.instructions)
    scan, words = min(examples, key=lambda example: len(example[1]))
    page.add(f'For example in {scan}: "{words}"\n', style="dim")


def _add_scores(page: TextPage, results: Sequence[Result]) -> None:
    """Add means with their intervals where one table holds them, else means alone."""
    metrics = results[0].metrics
    for space in (2, 1):
        table = _intervals(results, metrics, space)
        if page.fits(table):
            page.add("Means with 95 % bootstrap intervals, the best in bold:\n", table, "")
            return
    page.add("Means, the best in bold; 95 % intervals are in report.html:\n")
    by_unit = [[metric for metric in metrics if is_share(metric) == share] for share in (True, False)]
    tables: list[TextTable] = []
    for parts, space in (([metrics], 2), ([metrics], 1), (by_unit, 2), (by_unit, 1)):
        tables = [_means(results, part, space) for part in parts]
        if all(map(page.fits, tables)):
            break
    for table in tables:
        page.add(table, "")


def _intervals(results: Sequence[Result], metrics: Sequence[Metric], space: int) -> TextTable:
    """Lay out means and intervals: a row for each metric, a column for each walker."""
    table = TextTable(["", *(result.name for result in results)], space=space)
    found = [result.intervals() for result in results]
    for metric in metrics:
        winner = best(metric, [one[metric.symbol].mean for one in found])
        cells: list[Cell] = []
        for one in found:
            mean = number(metric, one[metric.symbol].mean)
            below = f"\n{interval(metric, one[metric.symbol])}"
            cells.append([(mean, "bold" if mean == winner else ""), (below, "dim")])
        table.rows.append([head(metric), *cells])
    return table


def _means(results: Sequence[Result], metrics: Sequence[Metric], space: int) -> TextTable:
    """Lay out means alone: a row for each walker, a column for each metric."""
    heads = [head(metric).replace(" ", "\n", 1) for metric in metrics]
    table = TextTable(["walker", *heads], space=space)
    found = [result.means() for result in results]
    winners = {metric.symbol: best(metric, [one[metric.symbol] for one in found]) for metric in metrics}
    for result, means in zip(results, found, strict=True):
        shown = {metric.symbol: number(metric, means[metric.symbol]) for metric in metrics}
        cells = [[(mean, "bold" if mean == winners[symbol] else "")] for symbol, mean in shown.items()]
        table.rows.append([result.name, *cells])
    return table


def _add_faults(page: TextPage, comparison: Comparison) -> None:
    """Add which metrics call each walker as good as the perfect one, or better, and which are never fooled."""
    table = TextTable(["walker", "its fault", "not noticed by"], left=range(3), space=2)
    judges = [test.metric for test in comparison.of(comparison.others[0]).values() if test.outcomes]
    room = max(map(len, FAULTS)) + max(map(len, FAULTS.values())) + 2 * table.space
    fooled: set[str] = set()
    for run in comparison.others:
        verdicts = {symbol: _verdict(comparison.of(run)[symbol]) for symbol in judges}
        blind = {symbol: verdict for symbol, verdict in verdicts.items() if verdict >= 0}
        fooled |= blind.keys()
        names = [f"{symbol} (prefers it)" if verdict else symbol for symbol, verdict in blind.items()]
        table.rows.append([run, FAULTS[run], fill(" ".join(names) or "-", max(page.width - room, 20))])
    page.add(
        f"Which metrics show that a walker is not {comparison.baseline} (p < {SIGNIFICANT:g}, Holm's correction)?\n"
    )
    page.add(table)
    if sharp := [symbol for symbol in judges if symbol not in fooled]:
        page.add(f"\n{_listed(sharp)} notice{'s' if len(sharp) == 1 else ''} every fault.", style="bold")
    page.add("")


def _verdict(test: Contrast) -> int:
    """Say whether a run does better than the baseline (1), worse (-1), or neither so that it could be shown (0)."""
    metric, mean = METRICS[test.metric], test.difference.mean
    if mean is None or test.p_holm is None or test.p_holm >= SIGNIFICANT:
        return 0
    if not float(number(metric, mean)):  # what prints as 0 is rounding
        return 0
    return 1 if (mean > 0) == (metric.direction == "up") else -1


def _add_rivals(page: TextPage, rivals: Comparison) -> None:
    """Say in two lines which metrics prefer which of two walkers."""
    (run,), base = rivals.others, rivals.baseline
    tests = rivals.of(run)
    verdicts = []
    for name, sign in ((run, 1), (base, -1)):
        if symbols := [symbol for symbol, test in tests.items() if test.outcomes and _verdict(test) == sign]:
            verdicts.append(f"{_listed(symbols)} prefer{'s' if len(symbols) == 1 else ''} {name}")
    page.add(f"{run} or {base}? {'; '.join(verdicts) or 'No metric shows a difference'}.")
    figures = []
    for metric in (METRICS["SR"], METRICS["nDTW"]):
        found = tests[metric.symbol].difference
        mean = number(metric, found.mean, signed=True)
        figures.append(f"{metric.symbol} {mean} {interval(metric, found, signed=True)} %")
    page.add(f"{run} minus {base}: {', '.join(figures)}\n", style="dim")


def _add_signature(page: TextPage, results: Sequence[Result]) -> None:
    """Add what made the numbers, in short where the long form does not fit."""
    first, *others = (result.signature for result in results)
    page.lines.append(str(first) if len(str(first)) <= page.width else first.short())
    for result, signature in zip(results[1:], others, strict=True):
        for key, (_, there) in first.differences(signature).items():
            page.add(f"{result.name}: {key}:{there}, because it does not start where its references start", style="dim")
    page.add("")


def _add_files(page: TextPage, out: Path, course: Course, walkers: int) -> None:
    files = {
        "report.html": "the report: open it in a browser",
        "references.json": f"{counted(len(course.tasks), 'path')} with instructions, in the format of R2R",
        "connectivity": f"graphs of {len(course.worlds)} worlds, in the format of Matterport3D",
        "runs": f"result files of {walkers} walkers, in the format of R2R",
    }
    room = len(str(out)) + 1 + max(map(len, files))
    page.lines.extend(f"{out / name!s:{room}}  {what}" for name, what in files.items())


def _add_commands(page: TextPage, out: Path, course: Course) -> None:
    page.add("\nCommands to try next, and then with your own files:")
    for comment, words in commands(out, course):
        page.add(f"\n# {comment}", style="dim")
        page.lines.append(_shell([program(), *words], page.width))


def commands(out: Path, course: Course) -> list[tuple[str, list[str]]]:
    """Return what to try next: a comment, and the parts of a command that follow the program's name."""
    noisy, shortest, backwards = (
        shlex.quote(str(out / "runs" / f"{name}.json")) for name in ("noisy", "shortest", "reversed_walk")
    )
    files = [
        f"--references {shlex.quote(str(out / 'references.json'))}",
        f"--graphs {shlex.quote(str(out / 'connectivity'))}",
    ]
    threshold = f"--threshold {course.threshold:g}"
    return [
        ("score one run, and print means for each world", ["score", noisy, *files, threshold, "--split-by scan"]),
        (
            "compare two runs: paired tests, and the episodes that differ most",
            ["compare", noisy, shortest, *files, threshold],
        ),
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


def _listed(names: Sequence[str]) -> str:
    """Return names in a sentence.

    >>> _listed(["SED", "DTW", "nDTW"])
    'SED, DTW and nDTW'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
