"""What `wayscore demo` prints: the scores, which metrics notice which fault, and what to try next."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wayscore.metrics import METRICS, Metric
from wayscore.report.layout import best, counted, fits, head, interval, is_share, number, plain_table
from wayscore.report.render import metrics_of

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Contrast
    from wayscore.report import Comparison, Summary
    from wayscore.worlds.files import Course

FAULTS = {
    "perfect": "walks as it is told",
    "noisy": "strays at one step in five",
    "detour": "visits a node three edges off",
    "overshoot": "wanders on for four edges",
    "early_stop": "stops halfway",
    "shortest": "takes the shortest way",
    "reversed_walk": "walks from goal to start",
    "random_walk": "walks as far, but anywhere",
}
SIGNIFICANT = 0.05


def tell(out: Path, course: Course, summaries: Sequence[Summary], comparison: Comparison, rivals: Comparison) -> None:
    """Print everything, as wide as the terminal is.

    Args:
        out: the demo's folder.
        course: what was walked.
        summaries: of every walker.
        comparison: of every walker with the perfect one.
        rivals: of two walkers with each other.
    """
    console = Console(highlight=False)
    _print_course(console, course, len(summaries))
    _print_scores(console, summaries)
    _print_faults(console, comparison)
    _print_rivals(console, rivals)
    _print_signature(console, summaries)
    _print_files(console, out, course, len(summaries))
    _print_commands(console, out, course)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style))


def _print_course(console: Console, course: Course, walkers: int) -> None:
    _say(
        console,
        f"{walkers} walkers in {len(course.worlds)} of the paper's worlds: "
        f"{counted(course.episodes, 'instruction')} for {counted(len(course.tasks), 'path')}, seed {course.seed}\n",
        "bold",
    )
    examples = ((task.scan, words) for task in course.tasks for words in task.instructions)
    scan, words = min(examples, key=lambda example: len(example[1]))
    _say(console, f'For example in {scan}: "{words}"\n', "dim")


def _print_scores(console: Console, summaries: Sequence[Summary]) -> None:
    """Print means with their intervals where one table holds them, else means alone."""
    metrics = metrics_of(summaries)
    for space in (2, 1):
        table = _intervals(summaries, metrics, space)
        if fits(console, table) and not console.options.ascii_only:
            _say(console, "Means with 95 % bootstrap intervals, the best in bold:\n")
            console.print(table)
            console.print()
            return
    _say(console, "Means, the best in bold; 95 % intervals are in report.html:\n")
    by_unit = [[metric for metric in metrics if is_share(metric) == share] for share in (True, False)]
    tables: list[Table] = []
    for parts, space in (([metrics], 2), ([metrics], 1), (by_unit, 2), (by_unit, 1)):
        tables = [_means(summaries, part, space, console.options.ascii_only) for part in parts]
        if all(fits(console, table) for table in tables):
            break
    for table in tables:
        console.print(table)
        console.print()


def _intervals(summaries: Sequence[Summary], metrics: Sequence[Metric], space: int) -> Table:
    """Lay out means and intervals: a row for each metric, a column for each walker."""
    table = plain_table(space)
    table.add_column("", no_wrap=True)
    for summary in summaries:
        table.add_column(summary.run, justify="right", no_wrap=True)
    for metric in metrics:
        winner = best(metric, [summary.metrics[metric.symbol].mean for summary in summaries])
        cells = []
        for found in (summary.metrics[metric.symbol] for summary in summaries):
            mean = number(metric, found.mean)
            cell = Text(mean, style="bold" if mean == winner else "")
            cells.append(cell.append(f"\n{interval(metric, found)}", style="not bold dim"))
        table.add_row(head(metric), *cells)
    return table


def _means(summaries: Sequence[Summary], metrics: Sequence[Metric], space: int, ascii_only: bool) -> Table:
    """Lay out means alone: a row for each walker, a column for each metric."""
    table = plain_table(space)
    table.add_column("walker", no_wrap=True)
    columns = []
    for metric in metrics:
        symbol, _, unit = head(metric).partition(" ")
        table.add_column(f"{symbol}\n{_plain(unit) if ascii_only else unit}", justify="right", no_wrap=True)
        means = [summary.metrics[metric.symbol].mean for summary in summaries]
        shown, winner = [number(metric, mean) for mean in means], best(metric, means)
        columns.append([Text(cell, style="bold" if cell == winner else "") for cell in shown])
    for summary, *cells in zip(summaries, *columns, strict=True):
        table.add_row(summary.run, *cells)
    return table


def _plain(text: str) -> str:
    return text.replace("↑", "^").replace("↓", "v")


def _print_faults(console: Console, comparison: Comparison) -> None:
    """Print which metrics call each walker as good as the perfect one, or better, and which are never fooled."""
    table = plain_table(2)
    for name in ("walker", "its fault", "not noticed by"):
        table.add_column(name, no_wrap=name == "walker")
    judges = [test.metric for test in comparison.of(comparison.others[0]).values() if test.outcomes]
    fooled: set[str] = set()
    for run in comparison.others:
        verdicts = {symbol: _verdict(comparison.of(run)[symbol]) for symbol in judges}
        blind = {symbol: verdict for symbol, verdict in verdicts.items() if verdict >= 0}
        fooled |= blind.keys()
        names = [f"{symbol} (prefers it)" if verdict else symbol for symbol, verdict in blind.items()]
        table.add_row(run, FAULTS[run], " ".join(names) or "-")
    _say(
        console, f"Which metrics notice that a walker is not {comparison.baseline} (p < {SIGNIFICANT:g} after Holm)?\n"
    )
    console.print(table)
    if sharp := [symbol for symbol in judges if symbol not in fooled]:
        _say(console, f"\n{_listed(sharp)} notice{'s' if len(sharp) == 1 else ''} every fault.", "bold")
    console.print()


def _verdict(test: Contrast) -> int:
    """Say whether a run does better than the baseline (1), worse (-1), or neither so that it could be shown (0)."""
    metric = METRICS[test.metric]
    if test.p_holm >= SIGNIFICANT or not float(number(metric, test.difference.mean)):  # what prints as 0 is rounding
        return 0
    return 1 if (test.difference.mean > 0) == (metric.direction == "up") else -1


def _print_rivals(console: Console, rivals: Comparison) -> None:
    """Say in two lines which metrics prefer which of two walkers."""
    (run,), base = rivals.others, rivals.baseline
    tests = rivals.of(run)
    told = []
    for name, sign in ((run, 1), (base, -1)):
        if symbols := [symbol for symbol, test in tests.items() if test.outcomes and _verdict(test) == sign]:
            told.append(f"{_listed(symbols)} prefer{'s' if len(symbols) == 1 else ''} {name}")
    _say(console, f"{run} or {base}? {'; '.join(told) or 'No metric can tell'}.")
    figures = []
    for metric in (METRICS["SR"], METRICS["nDTW"]):
        found = tests[metric.symbol].difference
        mean = number(metric, found.mean, signed=True)
        figures.append(f"{metric.symbol} {mean} {interval(metric, found, signed=True)} %")
    _say(console, f"{run} minus {base}: {', '.join(figures)}\n", "dim")


def _print_signature(console: Console, summaries: Sequence[Summary]) -> None:
    """Print what made the numbers, in short where the long form does not fit."""
    first, *others = (summary.signature for summary in summaries)
    text = str(first) if len(str(first)) <= console.width else first.short()
    console.print(Text(text, style="dim"), soft_wrap=True)
    for summary, signature in zip(summaries[1:], others, strict=True):
        for key, (_, there) in first.differences(signature).items():
            _say(console, f"{summary.run}: {key}:{there}, for it begins elsewhere than it was told to", "dim")
    console.print()


def _print_files(console: Console, out: Path, course: Course, walkers: int) -> None:
    files = {
        "report.html": "to open in a browser",
        "references.json": f"{counted(len(course.tasks), 'path')} and their instructions, like R2R's",
        "connectivity": f"{len(course.worlds)} worlds, like Matterport3D's scans",
        "runs": f"{walkers} runs, like results for R2R's server",
    }
    room = len(str(out)) + 1 + max(map(len, files))
    for name, what in files.items():
        path = Text(str(out / name).ljust(room), style=f"link {(out / name).absolute().as_uri()}")
        console.print(path.append(f"  {what}", style="not link dim"), soft_wrap=True)


def _print_commands(console: Console, out: Path, course: Course) -> None:
    _say(console, "\nTry next, and then with files of your own:")
    for comment, words in commands(out, course):
        _say(console, f"\n# {comment}", "dim")
        console.print(Text(_shell([program(), *words], console.width)), soft_wrap=True)


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
        ("one run, world by world", ["score", noisy, *files, threshold, "--split-by scan"]),
        ("two runs: tests, and where they differ most", ["compare", noisy, shortest, *files, threshold]),
        ("what a server would refuse", ["validate", backwards, *files]),
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
