"""The page on which metric to report: experiments carried out when the site is built, and audits of real systems.

Real systems need data that the site's builder need not have: `measured/` holds what `wayscore audit --runs ... --format
json` printed for them, and a test that has the data measures it again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import wayscore as ws
from docs.building.tables import table, words
from wayscore.lab.audit.battery import Battery
from wayscore.lab.audit.battery.battery import alike
from wayscore.lab.audit.battery.experiments import EXPERIMENTS
from wayscore.lab.audit.battery.responses import Response
from wayscore.lab.audit.systems import Systems
from wayscore.report.layout import is_share, number

MEASURED = Path(__file__).parent / "measured"
REPEATS = {"drop": "repeats dropped", "keep": "repeats kept"}
SHOWN = ("NE", "SR", "OSR", "AD", "SPL", "SED", "CLS", "nDTW", "SDTW")
"""The metrics of tables that would be too wide with all of them."""


@cache
def battery() -> Battery:
    """Return all experiments in generated worlds."""
    return ws.audit()


@cache
def systems(repeats: str) -> Systems:
    """Return what was measured on the runs of real systems."""
    return Systems.from_json((MEASURED / f"systems-{repeats}.json").read_text(encoding="utf-8"))


def experiments(_: Path) -> str:
    """List the experiments."""
    rows = [
        (
            f"`{one.name}`",
            words(one.about),
            f"{', '.join(f'{size:g}' for size in one.sizes)} {words(one.unit)}".strip(),
            one.base,
        )
        for one in EXPERIMENTS.values()
    ]
    return table(("experiment", "what is changed", "sizes", "walk"), rows)


def claims(_: Path) -> str:
    """List the paper's claims that experiments test, with what was found and the command that shows it."""
    rows = []
    for some in alike(battery().findings):
        claim, outcome, word = some[0].claim, some[0].outcome, some[0].response.verdict.word
        symbols = [one.claim.metric for one in some]
        change = "" if word == "invariant" else f", {_change(some[0].response)}"
        command = f"`wayscore audit {' '.join(symbols)} --experiments {claim.experiment}`"
        shown = f"**{outcome}**" if outcome == "fails" else outcome
        rows.append((claim.section, f"{', '.join(symbols)}: {claim.text}", f"{word}{change}", shown, command))
    return table(("section", "claim", "found", "outcome", "command"), rows)


def ranked(_: Path, repeats: str) -> str:
    """Show how far the rankings of real systems by two metrics agree."""
    found = systems(repeats)
    rows = [(a, *(f"{found.agreement[a][b]:.2f}" for b in SHOWN)) for a in SHOWN]
    return table((f"tau, {REPEATS[repeats]}", *SHOWN), rows, right=SHOWN)


def told(_: Path) -> str:
    """Show how well each metric tells real systems apart, how stable it ranks them, and what it depends on."""
    heads = ("metric", "pairs told apart", "episodes for the median pair", "stability: paths", "stability: scans")
    rows = []
    for symbol in SHOWN:
        cells = []
        for repeats in REPEATS:
            found = systems(repeats)
            power = next(one for one in found.power if one.metric == symbol)
            needed = "–" if power.needed_median is None else f"{power.needed_median:,.0f}"
            taus = {one.cluster: f"{one.tau:.2f}" for one in found.stability if one.metric == symbol}
            cells.append((f"{100 * power.told_apart[-1]:.0f} %", needed, taus["path"], taus["scan"]))
        rows.append((symbol, *(a if a == b else f"{a} / {b}" for a, b in zip(*cells, strict=True))))
    return table(heads, rows, right=heads[1:])


def thresholds(_: Path) -> str:
    """Show what another threshold does to the rankings of real systems."""
    found = systems("drop")
    values = sorted({one.value for one in found.alternatives if one.setting == "threshold"}, key=float)
    symbols = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")
    metrics = {metric.symbol: metric for metric in found.metrics}
    known = {(one.metric, one.value): one for one in found.alternatives}
    rows = [
        (s, *(f"{known[s, v].tau:.2f} ({number(metrics[s], known[s, v].change, signed=True)})" for v in values))
        for s in symbols
    ]
    return table(("metric", *(f"{value:g} m" for value in values)), rows, right=[f"{value:g} m" for value in values])


def figures(_: Path, *keys: str) -> str:
    """Say in a sentence what two metrics of real systems have to do with each other."""
    a, b = keys
    dropped, kept = (systems(repeats).agreement[a][b] for repeats in REPEATS)
    rho = systems("drop").correlations[a][b]
    return (
        f"{a} and {b}: Kendall's tau of their rankings is {dropped:.2f} with repeats dropped and {kept:.2f} with "
        f"repeats kept; Spearman's rho over episodes is {rho:.2f}."
    )


def scope(_: Path) -> str:
    """Say what was measured on real systems."""
    found = systems("drop")
    groups = "; ".join(", ".join(group) for group in found.groups if len(group) > 1)
    return (
        f"{len(found.names)} systems, {found.episodes:,} episodes of {found.paths} paths in {found.scans} scans of "
        f"`{found.references}`; {found.resamples:,} resamples. Groups of metrics whose values over episodes correlate "
        f"with 0.9 or more, repeats dropped: {groups}."
    )


def responses_picture() -> Any:
    """Every response curve."""
    return battery().figure()


def systems_picture() -> Any:
    """Rankings, redundancy, power and stability on real systems."""
    return systems("drop").figure()


def _change(response: Response) -> str:
    metric = next(one for one in battery().metrics if one.symbol == response.metric)
    experiment = EXPERIMENTS[response.experiment]
    unit = " percentage points" if is_share(metric) else f" {metric.unit}"
    at = f" at {experiment.sizes[response.largest_at or 0]:g} {experiment.unit}" if experiment.unit else ""
    return words(f"{number(metric, response.largest, signed=True)}{unit}{at}")
