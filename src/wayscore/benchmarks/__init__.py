"""Ratios against peers, measured on this machine in one run: `wayscore bench`.

Every row checks that both sides compute the same thing before it says which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wayscore.benchmarks.report import Outcome, Report, Row, describe_machine
from wayscore.benchmarks.rows import Setting, Spec, specs
from wayscore.errors import MissingPackageError, OptionError

__all__ = ["Outcome", "Report", "Row", "Setting", "Spec", "run", "specs"]

Progress = Callable[[int, int, str], None]
"""Called before each row, and at the end, with: rows done, rows in all, what comes next."""


def run(quick: bool = False, only: Iterable[str] | None = None, progress: Progress | None = None) -> Report:
    """Measure every row and return them with their bars.

    Args:
        quick: smaller sizes, for a smoke test of seconds.
        only: keep the rows whose work or peer contains any of these texts.
        progress: told what is being measured.
    """
    wanted = [text.casefold() for text in only or ()]
    chosen = [
        spec
        for spec in specs(quick)
        if not wanted or any(text in f"{spec.work} {spec.peer}".casefold() for text in wanted)
    ]
    if not chosen:
        known = "; ".join(dict.fromkeys(spec.work for spec in specs(quick)))
        raise OptionError(f"no row matches {', '.join(wanted)}. Known: {known}")
    setting = Setting(quick)
    rows = []
    for number, spec in enumerate(chosen):
        if progress is not None:
            progress(number, len(chosen), f"{spec.work} {spec.peer}".strip())
        rows.append(measure(spec, setting))
    if progress is not None:
        progress(len(chosen), len(chosen), "done")
    used = [f"graphs and node paths: {setting.inputs.source}"] if "inputs" in setting.__dict__ else []
    return Report(tuple(rows), "; ".join([*used, "points: generated (seeded)"]), quick, describe_machine())


def measure(spec: Spec, setting: Setting) -> Row:
    """Measure one row; a peer that is not installed makes it say so."""
    try:
        outcome, problem = spec.run(setting), ""
    except MissingPackageError as error:
        outcome, problem = None, str(error)
    return Row(spec.work, spec.peer, spec.measure, spec.bar, spec.stretch, outcome, problem)
