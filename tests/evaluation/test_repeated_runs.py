"""Several runs of one agent: mean of run means, their spread, and intervals that respect runs and episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.house import ASKED, GRAPHS, references, run
from wayscore.evaluation.repeated_runs import pool

HOPS = {"S": ws.Graph.from_edges([(n, n + 1) for n in range(5)])}
COUNT = 60


def result(ends: Any, name: str = "r", resamples: int = 400, seed: int = 0) -> ws.Result:
    """The result of a run that ends in these nodes; its NE is the node's number."""
    known = {str(n): ws.Reference(str(n), "S", [0], str(n)) for n in range(len(ends))}
    answers = {str(n): [0, int(end)] if end else [0] for n, end in enumerate(ends)}
    references = ws.References("asked", "table", known)
    return ws.evaluate(
        answers, references, HOPS, metrics="NE,SR", threshold=1.0, resamples=resamples, seed=seed, name=name
    )


def width(found: ws.Result) -> Any:
    _, low, high = found.intervals()["NE"]
    return high - low


def test_the_mean_of_run_means() -> None:
    runs = [result([0, 1, 2, 3]), result([1, 1, 2, 3]), result([2, 2, 3, 5])]
    both = pool(runs, "agent")
    assert (both.name, both.runs, len(both), both.signature.fields["runs"]) == ("agent", 3, 12, "3")
    assert both.means()["NE"] == pytest.approx((1.5 + 1.75 + 3) / 3)
    assert both.spread()["NE"] == pytest.approx(np.std([1.5, 1.75, 3], ddof=1))
    assert runs[0].spread() == {"NE": None, "SR": None}
    assert both.to_arrow()["run"].to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    assert both.to_dict()["runs"] == 3
    assert both.to_dict()["metrics"]["NE"]["spread"] == both.spread()["NE"]
    assert pool(runs[:1], "alone").intervals() == runs[0].intervals()


def test_runs_of_unlike_length_count_alike() -> None:
    references = {"e1": "abc", "e2": "xy", "e3": "ab"}
    full = ws.evaluate(run(**references), ASKED, GRAPHS, metrics="SR", resamples=50)
    part = ws.evaluate(run(e1="a"), ASKED, GRAPHS, metrics="SR", missing="skip", resamples=50, threshold=1.0)
    both = pool([full, part], "agent")
    assert both.means()["SR"] == 0.5  # not 3 of 4
    assert both.problems.counts == {"missing": 2}
    assert any("differ in threshold (3, 1)" in warning for warning in both.warnings)
    with pytest.raises(ws.OptionError, match="agent: its runs have different metrics; score them alike"):
        pool([full, ws.evaluate(run(**references), ASKED, GRAPHS, metrics="NE")], "agent")


def test_intervals_are_those_of_one_run_where_runs_are_alike() -> None:
    ends = np.random.default_rng(0).integers(0, 6, COUNT)
    one = result(ends)
    both = pool([one, result(ends), result(ends)], "agent")
    assert both.intervals()["NE"] == pytest.approx(one.intervals()["NE"], rel=1e-12)
    assert both.spread()["NE"] == 0.0


def test_intervals_are_wider_where_runs_differ() -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 4, COUNT)
    apart = pool([result(ends), result(ends + 2)], "agent")
    assert width(apart) > 1.5 * max(width(result(ends)), width(result(ends + 2)))
    independent = pool([result(rng.integers(0, 6, COUNT)) for _ in range(5)], "agent")
    assert width(independent) < width(result(rng.integers(0, 6, COUNT)))  # five runs know more than one


def test_coverage() -> None:
    # Agents whose runs have a mean of their own: the interval holds the agent's mean about as often as it says.
    rng = np.random.default_rng(3)
    held = {"pooled": 0, "single": 0}
    rounds, share = 50, 0.5
    for number in range(rounds):
        chances = np.clip(share + 0.08 * rng.standard_normal(4), 0, 1)
        runs = [result(5 * (rng.random(COUNT) > chance), resamples=200, seed=number) for chance in chances]
        for name, found in (("pooled", pool(runs, "agent")), ("single", runs[0])):
            _, low, high = found.intervals()["SR"]
            held[name] += low <= share <= high
    assert held["pooled"] >= 0.86 * rounds
    assert held["single"] < held["pooled"]  # which knows nothing of other runs


def test_agents_are_compared_over_runs() -> None:
    rng = np.random.default_rng(1)
    easy, hard = rng.integers(0, 2, COUNT), rng.integers(2, 6, COUNT)
    runs = [result(easy), result(np.roll(easy, 1)), result(hard), result(np.roll(hard, 1))]
    found = ws.compare(runs, names=["A", "A", "B", "B"])
    assert [one.name for one in found.results] == ["A", "B"]
    assert found.episodes == COUNT
    test = found.of("B")["NE"]
    assert test.difference.mean == pytest.approx(hard.mean() - easy.mean())
    assert test.difference.low > 0
    assert test.p < 0.05
    assert sum(test.outcomes) == COUNT
    # Two agents whose runs scatter more than the agents differ: runs are few, so nothing is found.
    low, high = rng.integers(0, 3, COUNT), rng.integers(3, 6, COUNT)
    scattered = [result(low), result(high), result(np.roll(low, 3)), result(np.roll(high, 3))]
    unclear = ws.compare(scattered, names=["A", "A", "B", "B"]).of("B")["NE"]
    assert unclear.p > 0.2
    assert unclear.difference.low < 0 < unclear.difference.high
    alike = ws.compare([runs[0], runs[1], runs[0], runs[1]], names=["A", "A", "B", "B"]).of("B")["NE"]
    assert alike.difference.mean == 0
    assert alike.p > 0.5
    # One run against several.
    found = ws.compare([result(easy, "alone"), *runs[2:]], names=[None, "B", "B"])
    assert found.baseline == "alone"
    assert found.of("B")["NE"].difference.mean == pytest.approx(hard.mean() - easy.mean())
    assert found.of("B")["NE"].difference.low > 0


def test_agents_are_compared_over_the_episodes_that_all_runs_define() -> None:
    island = {"S": ws.Graph.from_edges([("a", "b"), ("b", "c"), ("i", "j")], [1.0, 2.0, 1.0])}
    wanted = references(e1="abc", e2="abc")
    runs = [run(e1="abc", e2="ab"), run(e1="abc", e2="ab"), run(e1="abc", e2="ij"), run(e1="ab", e2="ab")]
    options: dict[str, Any] = {"metrics": "NE,SR", "resamples": 50, "start": "keep"}
    found = ws.compare(runs, wanted, island, names=["a", "a", "b", "b"], **options).of("b")["NE"]
    assert (found.episodes, found.difference.mean) == (1, 1.0)  # e1 alone: 0 and 0 against 0 and 2
    assert found.outcomes == (0, 0, 2)
    lost = [run(e1="ij", e2="ij")] * 2
    found = ws.compare([*lost, *runs[:2]], wanted, island, names=["b", "b", "a", "a"], **options).of("a")["NE"]
    assert (found.episodes, found.difference.mean, found.p, found.outcomes) == (0, None, None, (2, 0, 0))
