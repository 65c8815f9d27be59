"""The lines around a table of means: over what they are, what the intervals depend on, signatures and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wayscore.errors import Sentence, marked
from wayscore.evaluation.result import signature_differences
from wayscore.report.layout import counted

if TYPE_CHECKING:
    from wayscore.evaluation.result import Result


NOUNS = {"path": "path", "scan": "scan", "none": "episode"}
"""Cluster of the bootstrap -> what is drawn with replacement."""


def caption(results: Sequence[Result]) -> str:
    """Say over what the means are, what stands after ±, and what the intervals resample.

    Seeds and resamples move intervals and leave means alone, which is why the signature does not have them.
    """
    scopes = {scope(result) for result in results}
    over = f" over {scopes.pop()}" if len(scopes) == 1 else ""
    counts = {result.runs for result in results}
    spread = "" if counts == {1} else " ± standard deviation over runs"
    return f"Means{over}{spread}; {resampling(results)}"


def scope(result: Result) -> str:
    """Return how many episodes a result is over."""
    runs = f" in {result.runs} runs" if result.runs > 1 else ""
    return f"{counted(result.episodes_scored)}{runs}"


def resampling(results: Sequence[Result]) -> str:
    """Say what the intervals are and what they resample: for each run, where that differs."""
    if not any(result.bootstrap["resamples"] for result in results):
        return "95 % intervals of the normal distribution"
    found = [f"{clusters(result)} {_times(result)}" for result in results]
    if len({*found}) > 1:
        found = [f"{words} for {result.name}" for words, result in zip(found, results, strict=True)]
    return f"95 % bootstrap intervals resample {', '.join(dict.fromkeys(found))}"


def clusters(result: Result) -> str:
    """Return what the bootstrap draws with replacement, and how many there are: "783 paths"."""
    known = result.bootstrap
    drawn = counted(known["clusters"], NOUNS[known["cluster"]])
    return f"{result.runs} runs and {drawn}" if result.runs > 1 else drawn


def _times(result: Result) -> str:
    return f"({counted(result.bootstrap['resamples'], 'time')}, seed {result.bootstrap['seed']})"


def signatures(results: Sequence[Result]) -> list[str]:
    """Return the signatures: once where all agree, else one for each run with its name."""
    found = {str(result.signature) for result in results}
    return sorted(found) if len(found) == 1 else [f"{result.name}: {result.signature}" for result in results]


def warnings_of(results: Sequence[Result], warnings: Iterable[str] | None = None) -> list[Sentence]:
    """Return each warning once, with the names of the runs that have it unless all have it.

    Args:
        results: the runs.
        warnings: those of a comparison; by default what the signatures differ in, and what each run warns of.
    """
    if warnings is None:
        warnings = [*signature_differences(results), *(warning for result in results for warning in result.warnings)]
    found = []
    for warning in dict.fromkeys(warnings):
        names = [result.name for result in results if warning in result.warnings]
        who = f"{', '.join(names)}: " if 0 < len(names) < len(results) else ""
        found.append(Sentence(who + marked(warning)))
    return found
