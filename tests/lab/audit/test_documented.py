"""What docs/which-metric.md says in words is what was measured."""

from __future__ import annotations

import pytest

from docs.building.audits import battery, systems


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
