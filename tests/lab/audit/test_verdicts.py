"""Verdicts: their definitions on curves, and what they say of metrics whose behaviour is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from wayscore.lab.audit.battery.experiments import EXPERIMENTS
from wayscore.lab.audit.battery.responses import WORDS, Verdict, classify, scale_of
from wayscore.statistics import Interval


def certain(*means: float) -> list[Interval]:
    """Return means that are known to a thousandth."""
    return [Interval(mean, mean - 0.001, mean + 0.001) for mean in means]


def steps_of(*means: float) -> list[Interval]:
    return certain(*(b - a for a, b in zip((0.0, *means), means, strict=False)))


@pytest.mark.parametrize(
    ("means", "word", "at"),
    [
        ((0.001, -0.002), "indifferent", None),
        ((-0.1, -0.2, -0.3), "falls", None),
        ((0.1, 0.2, 0.3), "rises", None),
        ((-0.9, -0.95, -1.0), "jumps down", 1),
        ((0.0, 0.02, 0.5), "jumps up", 3),
        ((-0.79, -0.9, -1.0), "falls", None),  # just below 80 % in one step
        ((-0.5, -0.2), "mixed", None),  # down, and partly up again
        ((-0.5,), "falls", None),  # one step cannot jump
    ],
)
def test_curves(means: tuple[float, ...], word: str, at: int | None) -> None:
    assert classify(certain(*means), steps_of(*means), same=False, scale=1.0) == Verdict(word, at)  # type: ignore[arg-type]


def test_a_change_that_is_large_but_not_certain_is_unclear() -> None:
    wide = [Interval(-0.5, -1.2, 0.2)]
    assert classify(wide, wide, same=False, scale=1.0).word == "unclear"


def test_a_change_that_is_certain_but_small_is_indifferent() -> None:
    small = [Interval(-0.005, -0.006, -0.004)]
    assert classify(small, small, same=False, scale=1.0).word == "indifferent"
    assert classify(small, small, same=False, scale=0.1).word == "falls"


def test_nothing_jumps_where_sizes_begin_large() -> None:
    means = (-0.9, -0.95, -1.0)
    assert classify(certain(*means), steps_of(*means), same=False, scale=1.0, graded=False).word == "falls"


def test_no_change_at_all_is_invariant_and_no_value_undefined() -> None:
    nothing = [Interval(0.0, 0.0, 0.0)]
    assert classify(nothing, nothing, same=True, scale=1.0).word == "invariant"
    assert classify([Interval(None, None, None)], nothing, same=False, scale=1.0).word == "undefined"


OPPOSITE = {"falls": "rises", "jumps down": "jumps up"} | {"rises": "falls", "jumps up": "jumps down"}


@given(means=st.lists(st.floats(-1, 1), min_size=1, max_size=6), factor=st.sampled_from([0.5, 2.0, 64.0]))
def test_signs_and_units_do_not_matter(means: list[float], factor: float) -> None:
    found = classify(certain(*means), steps_of(*means), same=False, scale=1.0)
    assert found.word in WORDS

    def times(sign: float, one: Interval) -> Interval:
        low, mean, high = sorted(sign * float(value or 0.0) for value in one)
        return Interval(mean, low, high)

    def changed(sign: float) -> Verdict:
        changes, steps = ([times(sign, one) for one in curve] for curve in (certain(*means), steps_of(*means)))
        return classify(changes, steps, same=False, scale=abs(sign))

    assert changed(factor) == found
    assert changed(-factor).word == OPPOSITE.get(found.word, found.word)


def made_up(symbol: str, measure: Callable[[ws.Episode], float], **facts: Any) -> ws.Metric:
    known: dict[str, Any] = {"direction": "up", "bounds": (0, 1), "unit": "", "formula": symbol} | facts
    return ws.Metric(symbol=symbol, name=symbol, measure=measure, **known)


CONSTANT = made_up("constant", lambda _: 0.5)
GOAL = made_up("goal", lambda episode: float(episode.goal_distances()[-1] <= episode.threshold))
BLIND = made_up("blind", lambda episode: float((episode.matrix().min(axis=1) <= 0.5 * episode.threshold).mean()))
"""Which share of the reference's nodes the query came near to, in whichever order."""
EXACT = made_up("exact", lambda episode: float(episode.dtw() == 0))
STEPS = made_up("steps", lambda episode: float(len(episode.query)), bounds=(0, float("inf")), direction=None)


@pytest.fixture(scope="module")
def battery() -> Any:
    return ws.audit([CONSTANT, GOAL, BLIND, EXACT, STEPS], worlds=12, paths=3, resamples=400)


@pytest.mark.parametrize(
    ("metric", "experiments", "verdict"),
    [
        ("constant", " ".join(EXPERIMENTS), Verdict("invariant")),
        # One that looks at the goal sees nothing before it.
        ("goal", "detour overshoot shuffled retrace reversed-loop start-elsewhere repeats", Verdict("invariant")),
        ("goal", "near-miss", Verdict("jumps down", 6)),  # at 1.1 d_th
        ("goal", "stop-late", Verdict("jumps down", 2)),  # d_th is 1.33 edges
        # One that ignores order still sees what was not walked.
        ("blind", "reversed shuffled reversed-loop retrace repeats detour", Verdict("invariant")),
        ("blind", "stop-early", Verdict("falls")),
        ("exact", "near-miss", Verdict("jumps down", 1)),
        ("steps", "query-density", Verdict("rises")),
        ("steps", "reference-density", Verdict("invariant")),
        ("steps", "stop-early", Verdict("falls")),
    ],
)
def test_metrics_whose_behaviour_is_known(battery: Any, metric: str, experiments: str, verdict: Verdict) -> None:
    assert {battery.of(metric, name).verdict for name in experiments.split()} == {verdict}


def test_the_scale_of_metrics() -> None:
    assert scale_of(ws.METRICS["nDTW"], 3.0) == 1
    assert scale_of(ws.METRICS["DTW"], 3.0) == 3.0
    assert scale_of(STEPS, 3.0) == 1.0
