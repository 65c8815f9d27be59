"""How many sets a study needs: many studies with simulated raters, and how often they find a difference.

The raters are those of `rater_models`; a study with people may need more or fewer sets. The rankings of a
pilot study can be used instead, see `pilot_source`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.lab.study.correlations import DECIMALS, MAIN, RIVALS, correlate, goodness
from wayscore.lab.study.create import create
from wayscore.lab.study.model import Kind, Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.rater_models import Temper, dislikes, draw_weights, perceive
from wayscore.report.document import Document, Table
from wayscore.report.layout import counted
from wayscore.statistics.bootstrap import Floats, Rng
from wayscore.statistics.correlations import row_correlations
from wayscore.statistics.tests import holm_rows, sign_tests
from wayscore.worlds.world import check_number, check_whole

Signs: TypeAlias = NDArray[np.int8]
Source: TypeAlias = Callable[[NDArray[np.int64], Rng], Signs]
"""A function from the numbers of rater and set of each ranking to the signs of differences, (rankings, rivals)."""

SIMULATED = "simulated raters"
POOL = 400
"""The number of sets from which simulated studies draw their own, with replacement."""
SIZES = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480)
PER_RATER = 30
"""Rankings that one rater gives, as in the paper: 265 and 240 sets among nine raters."""


@dataclass(frozen=True, slots=True)
class Power:
    """How often studies of several sizes find that the metric correlates better or worse than each rival."""

    kind: Kind
    sizes: tuple[int, ...]  # numbers of sets
    raters: tuple[int, ...]  # numbers of raters that go with them
    each: int  # rankings of each set
    found: dict[str, tuple[float, ...]]  # rival -> share of studies of each size that favour the metric, p < alpha
    against: dict[str, tuple[float, ...]]  # rival -> the share that favour the rival, p < alpha
    together: tuple[float, ...]  # the share that favour the metric over every rival, with Holm's correction
    needed: dict[str, int | None]  # rival -> the smallest size from which on the share reaches the target, if any
    needed_together: int | None  # the same for all rivals together
    target: float
    alpha: float  # of the two-sided sign tests
    simulations: int  # studies of each size
    seed: int
    source: str  # where rankings come from: "simulated raters" or the pilot's name
    simulated: bool  # whether they are simulated: no person gave them


def power(
    kind: Kind = "UC",
    *,
    source: Source | None = None,
    named: str = SIMULATED,
    simulated: bool = True,
    sizes: Sequence[int] = SIZES,
    each: int = 1,
    per_rater: int = PER_RATER,
    target: float = 0.8,
    alpha: float = 0.05,
    simulations: int = 1000,
    seed: int = 0,
    temper: Temper | None = None,
    progress: Callable[[str], None] | None = None,
) -> Power:
    """Simulate studies of several numbers of sets, and count how often each finds what it looks for.

    `source` says with which sign each ranking favours the metric, that of simulated raters by default (see
    `simulated_source` and `pilot_source`); `named` is its name in results, and `simulated` whether no person gave its
    rankings. Each set goes to `each` raters, and one rater ranks `per_rater` sets. Tests are two-sided, at the level
    `alpha`; `target` is the share of studies that should find a difference. `progress` is called with every size.
    """
    for name, value in (("each", each), ("per_rater", per_rater), ("simulations", simulations)):
        check_whole(name, value, least=1)
    check_whole("seed", seed, least=0)
    check_number("target", target, most=1)
    check_number("alpha", alpha, most=1)
    if not sizes or any(size < 1 for size in sizes):
        raise OptionError(f"numbers of sets must be 1 or more, got {list(sizes)}")
    sizes = tuple(sorted({*sizes}))
    source = source or simulated_source(kind, seed=seed, temper=temper)
    rivals = RIVALS[kind]
    raters = tuple(max(each, math.ceil(size * each / per_rater)) for size in sizes)
    found = np.zeros((len(rivals), len(sizes)))
    against = np.zeros_like(found)
    together = np.zeros(len(sizes))
    for column, (size, people) in enumerate(zip(sizes, raters, strict=True)):
        if progress is not None:
            progress(f"{size} sets")
        numbers = np.arange(size * each)
        pairs = np.column_stack((numbers % people, numbers // each))  # rater and set; loads differ by at most one
        streams = (np.random.default_rng([seed, size, number, *kind.encode()]) for number in range(simulations))
        signs = np.stack([source(pairs, rng) for rng in streams])
        positive, negative = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
        p = sign_tests(positive, negative)
        found[:, column] = ((p < alpha) & (positive > negative)).mean(axis=0)
        against[:, column] = ((p < alpha) & (positive < negative)).mean(axis=0)
        rejected = (holm_rows(p) < alpha).all(axis=1)
        together[column] = (rejected & (positive > negative).all(axis=1)).mean()

    def needed(shares: Floats) -> int | None:
        """Return the least size from which on every share reaches the target."""
        short = np.flatnonzero(shares < target)
        first = short[-1] + 1 if len(short) else 0
        return sizes[first] if first < len(sizes) else None

    return Power(
        kind=kind,
        sizes=sizes,
        raters=raters,
        each=each,
        found={rival: tuple(row.tolist()) for rival, row in zip(rivals, found, strict=True)},
        against={rival: tuple(row.tolist()) for rival, row in zip(rivals, against, strict=True)},
        together=tuple(together.tolist()),
        needed={rival: needed(row) for rival, row in zip(rivals, found, strict=True)},
        needed_together=needed(together),
        target=target,
        alpha=alpha,
        simulations=simulations,
        seed=seed,
        source=named,
        simulated=simulated,
    )


def simulated_source(kind: Kind, *, seed: int = 0, temper: Temper | None = None) -> Source:
    """Return a source of rankings by simulated raters, of sets drawn from a pool."""
    temper = temper or Temper()
    study = create(kind, sets=POOL, raters=1, seed=seed)
    metrics = (MAIN[kind], *RIVALS[kind])
    scores = goodness(study, study.sets, metrics)
    looks = np.stack([dislikes(study, one, temper.taste) for one in study.sets])

    def draw(raters: NDArray[np.int64], rng: Rng) -> Signs:
        weights = draw_weights(int(raters[:, 0].max()) + 1, looks.shape[2], temper, rng)
        sets = rng.integers(POOL, size=int(raters[:, 1].max()) + 1)[raters[:, 1]]
        utilities = -np.einsum("nqf,nf->nq", looks[sets], weights[raters[:, 0]])
        seen = perceive(utilities, temper, rng)
        values = [row_correlations(scores[sets, :, number], seen, "spearman") for number in range(len(metrics))]
        return _signs(np.stack(values, axis=1))

    return draw


def pilot_source(study: Study, rankings: Sequence[Ranking]) -> Source:
    """Return a source that draws raters from a pilot, and rankings from each of these, with replacement."""
    found = correlate(study, rankings)
    signs = _signs(found.values)
    names = {rater: number for number, rater in enumerate(dict.fromkeys(found.raters))}
    codes = np.array([names[rater] for rater in found.raters])
    own = [np.flatnonzero(codes == number) for number in range(len(names))]

    def draw(raters: NDArray[np.int64], rng: Rng) -> Signs:
        people = rng.integers(len(own), size=int(raters[:, 0].max()) + 1)
        rows = np.array([own[person][int(rng.integers(len(own[person])))] for person in people[raters[:, 0]]])
        chosen: Signs = signs[rows]
        return chosen

    return draw


def _signs(values: Floats) -> Signs:
    """Return whether the first metric correlates better with each ranking than each of the others."""
    return np.sign(np.round(values[:, :1] - values[:, 1:], DECIMALS)).astype(np.int8)


def document(found: Power) -> Document:
    """Return the share of studies that find each difference, one row per rival."""
    main = MAIN[found.kind]
    heads = ["sets\nraters", *(f"{size}\n{raters}" for size, raters in zip(found.sizes, found.raters, strict=True))]
    shares = [(f"{main} vs {rival}", row, found.needed[rival]) for rival, row in found.found.items()]
    rows = []
    for name, row, needed in [*shares, ("all (Holm)", found.together, found.needed_together)]:
        size = f"more than {found.sizes[-1]}" if needed is None else str(needed)
        rows.append([name, *(f"{100 * share:.0f}" for share in row), size])
    worse = [rival for rival, row in found.against.items() if row[-1] > found.alpha]
    share = f"more than {100 * found.alpha:g} % of the studies of {found.sizes[-1]} sets"
    against = f"In {share}, the sign test favours the other metric: {', '.join(worse)}."
    return Document(
        [
            *(["SIMULATED raters: no person gave these rankings."] if found.simulated else []),
            f"{found.kind} study, {counted(found.each, 'ranking')} of each set; rankings from {found.source}.",
            f"Percent of {found.simulations:,} studies whose sign test favours {main} (two-sided p < {found.alpha:g})",
            Table([*heads, f"sets needed\nfor {100 * found.target:g} %"], rows),
            *([against] if worse else []),
            f"seed {found.seed}",
        ],
        data=[asdict(found)],
    )
