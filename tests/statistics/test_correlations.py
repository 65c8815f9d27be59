"""Correlations in resamples of clusters, against the same observations repeated literally."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wayscore.statistics import kendall, spearman
from wayscore.statistics.correlations import draw_counts, weighted_correlations

LITERAL = {"spearman": spearman, "kendall": kendall}


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_equal_observations_repeated(method, data):
    size = data.draw(st.integers(2, 12))
    few = st.lists(st.integers(0, 4), min_size=size, max_size=size)  # many ties
    x, y, labels = (np.array(data.draw(few)) for _ in range(3))
    clusters = np.unique(labels, return_inverse=True)[1]
    count = int(clusters.max()) + 1
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    found = weighted_correlations([x.astype(float)], y.astype(float), clusters, counts[None].astype(float), method)[
        0, 0
    ]
    often = np.repeat(np.arange(size), counts[clusters])
    if len(np.unique(x[often])) < 2 or len(np.unique(y[often])) < 2:
        assert found == np.inf
    else:
        assert found == pytest.approx(LITERAL[method](x[often], y[often]), abs=1e-12)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_many_resamples_and_columns_at_once(method):
    rng = np.random.default_rng(3)
    columns, y = rng.integers(0, 6, (3, 700)).astype(float), rng.integers(1, 6, 700).astype(float)
    clusters = rng.permutation(np.arange(700) % 40)
    counts = draw_counts(40, 260, rng)  # more than one block of resamples and of rows
    found = weighted_correlations(list(columns), y, clusters, counts, method)
    for resample in (0, 249, 250, 259):
        often = np.repeat(np.arange(700), counts[resample, clusters].astype(int))
        for row, column in zip(found, columns, strict=True):
            assert row[resample] == pytest.approx(LITERAL[method](column[often], y[often]), abs=1e-12)


def test_intervals_of_clusters_hold_the_truth_and_those_of_single_walks_do_not():
    """Five walks of one person have one leniency: with no true correlation, 95 % of intervals should hold 0."""
    rng = np.random.default_rng(5)
    people, each = 40, 5
    person = np.arange(people).repeat(each)
    held = {"person": 0, "walk": 0}
    for _ in range(100):
        rating, length = (rng.normal(size=people)[person] + 0.3 * rng.normal(size=people * each) for _ in range(2))
        for kind, clusters in (("person", person), ("walk", np.arange(people * each))):
            counts = draw_counts(clusters.max() + 1, 200, rng)
            drawn = weighted_correlations([length], rating, clusters, counts, "spearman")[0]
            low, high = np.quantile(drawn, [0.025, 0.975])
            held[kind] += low <= 0 <= high
    assert held["person"] >= 87
    assert held["walk"] <= 75
