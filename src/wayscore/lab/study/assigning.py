"""Which rater sees which sets, in which order: balanced and random, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wayscore.errors import OptionError
from wayscore.lab.study.model import QUERIES, Assignment, ComparisonSet, Item

Rng = np.random.Generator


def deal(names: Sequence[str], raters: int, each: int, rng: Rng) -> list[list[str]]:
    """Give every set to `each` different raters; the loads of two raters differ by at most one set.

    >>> sorted(len(hand) for hand in deal(["a", "b", "c", "d"], 3, 2, np.random.default_rng(0)))
    [2, 3, 3]
    """
    if each > raters:
        raise OptionError(
            f"each set should go to {each} raters, but there are only {raters}; raise <<raters>> or lower <<each>>"
        )
    hands: list[list[str]] = [[] for _ in range(raters)]
    for number in rng.permutation(len(names)):
        chance = rng.random(raters)
        order = sorted(range(raters), key=lambda rater: (len(hands[rater]), chance[rater]))
        for rater in order[:each]:
            hands[rater].append(names[number])
    return hands


def assign(
    plain: Sequence[ComparisonSet], checks: Sequence[ComparisonSet], *, raters: int, each: int, repeats: int, rng: Rng
) -> list[Assignment]:
    """Return what each rater sees: their share of the plain sets, all checks, and some of their sets a second time.

    A repeat comes at a random position after the set that it repeats, with at least one other set between the two if
    there is one. It is named after its set, see `repeat_name`.
    """
    assignments = []
    for rater, hand in enumerate(deal([one.name for one in plain], raters, each, rng), start=1):
        names = [str(name) for name in rng.permutation([*hand, *(one.name for one in checks)])]
        again = [name for name in names if name in hand][: max(1, (len(hand) + 1) // 2)]  # early, so far apart
        if repeats > len(again):
            raise OptionError(
                f"rater {rater} has {len(hand)} sets, of which at most {len(again)} can be repeated, not {repeats}; "
                "lower <<repeats>> or raise <<sets>>"
            )
        for name in rng.choice(again, size=repeats, replace=False) if repeats else ():
            first = min(names.index(name) + 2, len(names))
            names.insert(int(rng.integers(first, len(names) + 1)), repeat_name(str(name)))
        assignments.append(Assignment(rater, [Item(name, rng.permutation(QUERIES).tolist()) for name in names]))
    return assignments


def repeats_in(assignments: Sequence[Assignment], plain: Sequence[ComparisonSet]) -> list[ComparisonSet]:
    """Return the repeats that the assignments name."""
    wanted = {item.set for one in assignments for item in one.items}
    return [
        ComparisonSet(name, one.scene, one.reference, one.queries, kind="repeat", of=one.name, sources=one.sources)
        for one in plain
        if (name := repeat_name(one.name)) in wanted
    ]


def repeat_name(name: str) -> str:
    """Return what the repeat of a set is called."""
    return f"{name}-again"
