"""What docs/which-metric.md says in words is what was measured, and what was measured is what the code finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wayscore as ws
from docs.building.audits import battery, systems
from wayscore.lab.audit.systems.scoreboard import Scoreboard, agreement, correlations, ranks, stability


def test_what_is_said_in_short() -> None:
    dropped, kept = systems("drop"), systems("keep")
    assert min(found.agreement["SDTW"]["SPL"] for found in (dropped, kept)) > 0.9  # ranks agents almost as SPL does
    assert dropped.agreement["SDTW"]["nDTW"] < 0.9
    still = dropped.names.index("val_unseen_stop_agent")
    for symbol in ("AD", "MD"):
        assert (dropped.ranks[symbol][still], dropped.means[symbol][still]) == (1, 0.0)
    for one in dropped.alternatives:
        if one.setting == "threshold" and one.metric in ("SR", "SPL", "nDTW", "SDTW"):
            assert abs(one.change) > 0.03  # another threshold changes means by many percentage points
            assert one.tau < 1.0


def test_what_is_said_of_sdtw() -> None:
    power = {one.metric: one.told_apart[-1] for one in systems("drop").power}
    assert power["SDTW"] >= power["SPL"]
    stable = {(one.metric, one.cluster): one.tau for one in systems("drop").stability}
    assert all(stable["SDTW", cluster] > 0.9 for cluster in ("path", "scan"))


def test_what_is_said_of_repeats() -> None:
    assert systems("drop").agreement["nDTW"]["CLS"] - systems("keep").agreement["nDTW"]["CLS"] > 0.2


@pytest.mark.parametrize(
    ("metric", "experiment", "word"),
    [
        ("nDTW", "misplaced-point", "indifferent"),
        ("nDTW", "query-density", "falls"),
        ("CLS", "reversed-loop", "invariant"),
        ("CLS", "shuffled", "falls"),
        ("SED", "near-miss", "jumps down"),
    ],
)
@pytest.mark.soak
def test_what_is_said_of_experiments(metric: str, experiment: str, word: str) -> None:
    assert battery().of(metric, experiment).verdict.word == word


@pytest.mark.soak
def test_what_is_said_of_near_misses_and_density() -> None:
    assert battery().of("SED", "near-miss").values[1].mean == 0.0  # a thousandth of the threshold
    both, only = (battery().of("nDTW", name).largest for name in ("both-densities", "query-density"))
    assert both is not None
    assert only is not None
    assert abs(both) < 0.02 < abs(only)


@pytest.mark.parametrize("repeats", ["drop", "keep"])
@pytest.mark.soak
def test_measured_rankings(data: Path, repeats: str) -> None:
    known = systems(repeats)
    references = ws.load_references(data / "r2r" / "R2R_val_unseen.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    files = sorted((data / "predictions" / "r2r").glob("val_unseen_*.json.gz"))
    board = Scoreboard.of([ws.evaluate(file, references, graphs, repeats=repeats) for file in files])
    assert board.names == known.names
    for metric, means in zip(board.metrics, board.means(), strict=True):
        assert np.allclose(np.abs(means), known.means[metric.symbol])
        assert ranks(means) == known.ranks[metric.symbol]
    for found, measured in ((agreement(board), known.agreement), (correlations(board), known.correlations)):
        assert all(np.isclose(found[a][b], measured[a][b]) for a in found for b in found)
    for one, other in zip(stability(board, resamples=known.resamples), known.stability, strict=True):
        assert (one.metric, one.cluster) == (other.metric, other.cluster)
        assert np.isclose(one.tau, other.tau)


def test_the_claims_on_real_paths_fail_where_they_fail_in_worlds(data: Path) -> None:
    given = {"references": data / "r2r" / "R2R_val_unseen.json.gz", "graphs": data / "connectivity.tar.gz"}
    found = ws.audit(**given, resamples=500)
    failed = {(one.claim.metric, one.claim.experiment) for one in found.findings if one.outcome != "holds"}
    density = {("nDTW", name) for name in ("query-density", "reference-density", "both-densities")}
    assert failed == density | {("nDTW", "misplaced-point"), ("CLS", "shuffled")}
