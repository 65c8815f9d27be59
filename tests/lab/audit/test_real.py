"""Real data: what the documentation says of real systems is what the code finds, and R2R's paths can be changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wayscore as ws
from docs.building.audits import systems
from wayscore.lab.audit.systems.scoreboard import Scoreboard, agreement, correlations, ranks, stability


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
