"""The lines around a table of means: over what they are, what the intervals depend on, signatures and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wayscore.errors import in_command
from wayscore.evaluation.result import signature_differences
from wayscore.report.layout import counted

if TYPE_CHECKING:
    from wayscore.evaluation.result import Result


def caption(results: Sequence[Result], *, intervals: bool = True) -> str:
    """Say over what the means are, and what their intervals and spreads are.

    Seeds and resamples move intervals and leave means alone, which is why the signature does not have them.
    """
    scopes = {scope(result) for result in results}
    over = f" over {scopes.pop()}" if len(scopes) == 1 else ""
    said = f"Means{over}"
    if spread := spread_words(results):
        said += f" ± {spread}"
    if not intervals:
        return said
    return f"{said}{',' if spread else ''} with 95 % bootstrap intervals{resampling(results)}"


def scope(result: Result) -> str:
    """Return how many episodes a result is over."""
    runs = f" in {result.runs} runs" if result.runs > 1 else ""
    return f"{counted(result.episodes_scored)}{runs}"


def spread_words(results: Sequence[Result]) -> str:
    """Say what stands after ±; nothing where no agent has several runs."""
    counts = {result.runs for result in results}
    if counts == {1}:
        return ""
    return f"standard deviation over {counts.pop()} runs" if len(counts) == 1 else "standard deviation over runs"


def resampling(results: Sequence[Result]) -> str:
    """Say what the intervals depend on: of each run, where these differ."""
    found = [_bootstrap(result) for result in results]
    if len({*found}) == 1:
        return found[0]
    return ": " + "; ".join(f"{result.name}{words}" for result, words in zip(results, found, strict=True))


def _bootstrap(result: Result) -> str:
    known = result.bootstrap
    cluster = known.get("cluster", "none")
    return f" ({counted(known['resamples'], 'resample')}, seed {known['seed']}){by_cluster(cluster)}"


def by_cluster(cluster: str) -> str:
    """Say what was resampled, where that is not single episodes."""
    return "" if cluster == "none" else f", resampled by {cluster}"


def signatures(results: Sequence[Result]) -> list[str]:
    """Return the signatures: once where all agree, else one for each run with its name."""
    found = {str(result.signature) for result in results}
    return sorted(found) if len(found) == 1 else [f"{result.name}: {result.signature}" for result in results]


def warnings_of(results: Sequence[Result]) -> list[str]:
    """Return what the signatures differ in, and the warnings of each run: with its name, unless all have them."""
    found = signature_differences(results)
    for result in results:
        for warning in result.warnings:
            everywhere = all(warning in other.warnings for other in results)
            found.append(warning if everywhere else f"{result.name}: {warning}")
    return list(dict.fromkeys(found))


def warning_lines(warnings: Iterable[str]) -> list[str]:
    """Return warnings as lines, each once, in the words of the command line."""
    return [f"warning: {in_command(warning)}" for warning in dict.fromkeys(warnings)]
