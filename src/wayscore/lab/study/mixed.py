"""A mixed-effects check of a mean difference, with raters and sets as crossed random effects.

    d_rs = mu + a_r + b_s + e_rs,   a_r ~ N(0, A),   b_s ~ N(0, B),   e_rs ~ N(0, E)

d_rs is the difference of two metrics' correlations with the order that rater r gave to set s. Variances are estimated
by restricted maximum likelihood (REML), mu by generalized least squares. If each set has only one rater, b_s cannot be
separated from e_rs and is left out. If there is only one rater, a_r is left out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError

Floats = NDArray[np.float64]
LARGEST = 1e4
"""A variance of raters or sets is at most this many times that of the rest."""


@dataclass(frozen=True, slots=True)
class MixedEffects:
    """The fitted model.

    Attributes:
        mean: mu, the difference after raters and sets are accounted for.
        error: its standard error.
        low: lower end of the 95 % interval, from Student's t with (number of raters - 1) degrees of freedom, or
            (number of rankings - 1) if one rater gave all of them.
        high: upper end of the interval.
        p: two-sided p-value of mu = 0, from the same t.
        rater: A, the variance between raters; None if the model has no such effect.
        set: B, the variance between sets; None if the model has no such effect.
        rest: E, the variance of single rankings.
    """

    mean: float
    error: float
    low: float
    high: float
    p: float
    rater: float | None
    set: float | None
    rest: float


def fit_mixed(values: Sequence[float] | Floats, raters: Sequence[Hashable], sets: Sequence[Hashable]) -> MixedEffects:
    """Fit the model to one difference per ranking.

    Args:
        values: d_rs.
        raters: who gave each ranking.
        sets: which set each ranking is of.

    >>> fit = fit_mixed([0.1, 0.3, 0.5, 0.2, 0.2, 0.7], raters=[1, 1, 1, 2, 2, 2], sets="abcabc")
    >>> round(fit.mean, 3), round(fit.error, 3), round(fit.set, 4)
    (0.333, 0.136, 0.0508)
    """
    from scipy.stats import t as student

    y = np.asarray(values, dtype=np.float64)
    if len(y) < 2:
        raise OptionError("a mixed-effects model needs at least two rankings")
    who, what = _codes(raters), _codes(sets)
    effects = {
        name: codes
        for name, codes in (("rater", who), ("set", what))
        if 1 < codes.max() + 1 < len(y)  # one group or one ranking a group: nothing to estimate
    }
    groups = _Groups.of(y, list(effects.values()))
    ratios = groups.best_ratios() if np.ptp(y) > 0 else [0.0] * len(effects)
    mean, error, rest, _ = groups.fit(ratios)
    freedom = int(who.max()) or len(y) - 1
    t = mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
    margin = float(student.ppf(0.975, freedom)) * error
    variances = dict(zip(effects, (ratio * rest for ratio in ratios), strict=True))
    return MixedEffects(
        mean,
        error,
        mean - margin,
        mean + margin,
        float(2 * student.sf(abs(t), freedom)),
        variances.get("rater"),
        variances.get("set"),
        rest,
    )


@dataclass(frozen=True, slots=True)
class _Groups:
    """What the likelihood needs of the data, whatever the variances, for at most two effects.

    `sizes` are the rankings of each rater (or set), `sums` the sums of [1 y] over them, `shared` the rankings that each
    rater has of each set, `squares` is [1 y]' [1 y].
    """

    sizes: list[Floats]
    sums: list[Floats]
    shared: Floats
    squares: Floats
    count: int

    @classmethod
    def of(cls, y: Floats, effects: Sequence[NDArray[np.int64]]) -> _Groups:
        both = np.column_stack((np.ones(len(y)), y))
        none = np.zeros(len(y), dtype=np.int64)
        first, second = [*effects, none, none][:2]
        shared = np.zeros((first.max() + 1, second.max() + 1))
        np.add.at(shared, (first, second), 1.0)
        sums: list[Floats] = []
        for codes in effects:
            sums.append(np.zeros((codes.max() + 1, 2)))
            np.add.at(sums[-1], codes, both)
        return cls([one[:, 0] for one in sums], sums, shared, both.T @ both, len(y))

    def fit(self, ratios: Sequence[float] | Floats) -> tuple[float, float, float, float]:
        """Return mu, its standard error, the variance of the rest, and the REML log-likelihood up to a constant.

        With V = I + sum ratio Z Z', Woodbury's identity leaves a matrix as large as the number of raters and sets, of
        which the larger part is diagonal; taking that away leaves the smaller.
        """
        products, log_det = self.squares, 0.0  # to become [1 y]' V^-1 [1 y] and log |V|
        roots = [math.sqrt(ratio) for ratio in ratios]
        parts = [(1 + a * a * size, a * total) for a, size, total in zip(roots, self.sizes, self.sums, strict=True)]
        if parts:
            parts.sort(key=lambda part: -len(part[0]))
            diagonal, outer = parts[0]
            products = products - outer.T @ (outer / diagonal[:, None])
            log_det = float(np.log(diagonal).sum())
        if len(parts) == 2:
            small, inner = parts[1]
            cross = roots[0] * roots[1] * (self.shared if len(self.shared) == len(diagonal) else self.shared.T)
            L = np.linalg.cholesky(np.diag(small) - cross.T @ (cross / diagonal[:, None]))
            rest = np.linalg.solve(L, inner - cross.T @ (outer / diagonal[:, None]))
            products = products - rest.T @ rest
            log_det += 2 * float(np.log(np.diag(L)).sum())
        weight, across, square = float(products[0, 0]), float(products[0, 1]), float(products[1, 1])
        mean = across / weight
        variance = max(0.0, square - across * mean) / (self.count - 1)
        lost = (self.count - 1) * math.log(variance) + log_det + math.log(weight) if variance > 0 else -math.inf
        return mean, math.sqrt(variance / weight), variance, -lost / 2

    def best_ratios(self) -> list[float]:
        """Return the variance of each effect, in variances of the rest, that REML finds likeliest."""
        effects = len(self.sizes)
        if not effects:
            return []
        from scipy.optimize import minimize

        tries = [
            minimize(
                lambda roots: -self.fit(roots**2)[3],
                [start] * effects,  # ratios are searched by their roots, which are smooth at 0, where many end
                method="L-BFGS-B",
                bounds=[(0.0, math.sqrt(LARGEST))] * effects,
                options={"ftol": 1e-12},
            )
            for start in (0.3, 1.5)
        ]
        best = min(tries, key=lambda one: float(one.fun))
        return [float(root) ** 2 for root in best.x]


def _codes(labels: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
