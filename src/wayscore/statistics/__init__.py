"""How certain a number is: bootstrap intervals, paired tests, the sign test, rank correlations.

Pure functions over one value per episode; the random generator is always an argument. Infinite values are undefined,
as in a `ScoreTable`, and are left out of the mean. Where nothing is defined, a mean, its bounds and a p-value are None.
"""

from wayscore.statistics.bootstrap import (
    Difference,
    Interval,
    bootstrap,
    bootstrap_table,
    paired_bootstrap,
    paired_bootstrap_table,
)
from wayscore.statistics.correlations import kendall, pearson, spearman
from wayscore.statistics.tests import (
    effect_size,
    holm,
    probability_of_superiority,
    randomization_test,
    sign_test,
    win_tie_loss,
)

__all__ = [
    "Difference",
    "Interval",
    "bootstrap",
    "bootstrap_table",
    "effect_size",
    "holm",
    "kendall",
    "paired_bootstrap",
    "paired_bootstrap_table",
    "pearson",
    "probability_of_superiority",
    "randomization_test",
    "sign_test",
    "spearman",
    "win_tie_loss",
]
