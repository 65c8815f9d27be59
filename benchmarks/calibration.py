"""Do 95 % intervals cover the truth 95 % of the time? By simulation, on real runs (WAYSCORE_DATA) or generated ones.

    python -m benchmarks.calibration [TRIALS]

Coverage: a run's scores are taken as the truth, episodes are drawn from it, and the interval of the draw either holds
the run's mean or not. False positives: two agents are swapped in random episodes, so that they differ by chance only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import wayscore as ws
from wayscore.evaluation.result import Result
from wayscore.evaluation.table import ScoreTable
from wayscore.statistics import bootstrap_table, paired_bootstrap_table, randomization_test

EPISODES, RESAMPLES, METRICS = 400, 1_000, ("NE", "SR", "SPL", "nDTW", "SDTW")


def runs() -> tuple[str, list[Result] | list[ScoreTable]]:
    """Return the scores of two agents on the same episodes."""
    folder = os.environ.get("WAYSCORE_DATA")
    if folder:
        data = Path(folder)
        files = [data / f"predictions/r2r/val_unseen_{name}.json.gz" for name in ("prevalent_add", "seq2seq_iter19000")]
        truth, graphs = data / "r2r/R2R_val_unseen.json.gz", data / "connectivity.tar.gz"
        return "R2R val_unseen", [ws.evaluate(file, truth, graphs) for file in files]
    from wayscore.worlds import WALKERS, World

    world, rng = World.paper(0), np.random.default_rng(0)
    references = [world.sample_path(rng) for _ in range(2_000)]
    tables = [
        ws.score(
            references=references,
            queries=[WALKERS[name](world, path, rng) for path in references],
            distance=world.graph,
            threshold=world.threshold,
        )
        for name in ("noisy", "detour")
    ]
    return "generated walkers", tables


def main() -> None:
    """Print both rates and their sampling error."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    source, (one, other) = runs()
    columns = {metric: (one[metric], other[metric]) for metric in METRICS}
    truth = {metric: float(np.mean(one[metric][np.isfinite(one[metric])])) for metric in METRICS}
    held = dict.fromkeys(METRICS, 0)
    false = {f"{test} {metric}": 0 for test in ("bootstrap", "randomization") for metric in ("nDTW", "SR")}
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        rows = rng.integers(len(one), size=EPISODES)
        drawn = {metric: values[rows] for metric, (values, _) in columns.items()}
        for metric, interval in bootstrap_table(drawn, rng=rng, resamples=RESAMPLES).items():
            low, high = interval.low, interval.high
            held[metric] += low is not None and high is not None and low <= truth[metric] <= high
        swap = rng.random(EPISODES) < 0.5
        swapped = [
            {m: np.where(swap if n else ~swap, a[rows], b[rows]) for m, (a, b) in columns.items()} for n in (0, 1)
        ]
        for metric, difference in paired_bootstrap_table(*swapped, rng=rng, resamples=RESAMPLES).items():
            if metric in ("nDTW", "SR"):
                false[f"bootstrap {metric}"] += difference.p is not None and difference.p < 0.05
        for metric in ("nDTW", "SR"):
            p = randomization_test(swapped[0][metric], swapped[1][metric], rng=rng, resamples=RESAMPLES)
            false[f"randomization {metric}"] += p is not None and p < 0.05
    error = 196 * np.sqrt(0.05 * 0.95 / trials)
    print(
        f"{source}, {trials:,} draws of {EPISODES} episodes, {RESAMPLES:,} resamples; sampling error {error:.1f} points"
    )
    print("coverage, % (95 is right):       " + ", ".join(f"{m} {100 * n / trials:.1f}" for m, n in held.items()))
    print("false positives, % (5 is right): " + ", ".join(f"{t} {100 * n / trials:.1f}" for t, n in false.items()))


if __name__ == "__main__":
    main()
