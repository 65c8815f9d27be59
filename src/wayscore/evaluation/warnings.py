"""Numbers that are right by the letter and mislead in practice: what is seen of a run's paths, and what is said of it.

Sums are whole numbers, so that a run gives the same sentences however it is cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.convention.choices import Convention
from wayscore.errors import listed
from wayscore.paths import Offsets, PathBatch

REPEATED = 1 / 20
"""The share of steps that repeat the node before, above which that is said."""
UNLIKE = 2.0
"""The factor between mean steps, above which paths are sampled unlike."""
VISIBLE = 0.0005
"""The least difference of a mean that is printed."""
UNIT = 2.0**-30
"""What sums of scores and lengths are whole numbers of."""
BY_STEPS = ("DTW", "nDTW", "SDTW", "AD", "SED")
"""The metrics in which every logged step counts."""
WARPED = ("DTW", "nDTW", "SDTW")
USUAL = {"vlnce": "vlnce", "ndh": "cvdn", "reverie": "reverie", "street": "touchdown-vlnt"}
"""The convention that users of a format report, where that is not close to the default."""
_SPLIT = re.compile(r"(?<![a-z])(train|val_train_seen|val_seen|val_unseen|test)(?![a-z])")


class Seen(Struct):
    """What was seen of the paths of a run; two of them merge into one.

    Attributes:
        moves: steps of the queries, from one logged node to the next.
        repeats: how many of them stay at the node.
        kept: nDTW as logged, summed over all episodes.
        dropped: the same without repeats.
        valued: how many episodes both sums are over; 0 where they were not needed.
        walked: the length of the queries, where paths are points.
        steps: their moves, repeats apart.
        led: the length of the paths that they are warped to.
        stages: the moves of those.
    """

    moves: int = 0
    repeats: int = 0
    kept: int = 0
    dropped: int = 0
    valued: int = 0
    walked: int = 0
    steps: int = 0
    led: int = 0
    stages: int = 0

    def merge(self, other: Seen) -> None:
        """Add what was seen of another part of the run."""
        for name in Seen.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def look(self, queries: PathBatch, references: PathBatch | None = None, pairs: Offsets | None = None) -> Offsets:
        """Look at queries, and at the points that they are warped to; return which queries repeat a node."""
        same = queries.places[1:] == queries.places[:-1]
        same = same.all(axis=1) if same.ndim == 2 else same
        same[queries.offsets[1:-1] - 1] = False  # from one path to the next
        stays = np.flatnonzero(same)
        self.moves += len(queries.places) - len(queries.lengths)
        self.repeats += len(stays)
        if queries.places.ndim == 2 and references is not None:
            for batch, length, count in ((queries, "walked", "steps"), (references, "led", "stages")):
                lengths, moves = _lengths(batch)
                which = slice(None) if batch is queries or pairs is None else pairs
                setattr(self, length, getattr(self, length) + int(np.rint(lengths[which] / UNIT).sum()))
                setattr(self, count, getattr(self, count) + int(moves[which].sum()))
        rows = np.searchsorted(queries.offsets, stays, side="right") - 1
        return rows[np.diff(rows, prepend=-1) > 0]

    def facts(self) -> dict[str, float]:
        """Return which share of steps repeats the node before, and how many times longer a step of the queries is.

        Longer than a step of what they are warped to; 1 where that is not known.
        """
        known = self.steps and self.stages and self.walked and self.led
        density = (self.walked / self.steps) / (self.led / self.stages) if known else 1.0
        return {"repeated": self.repeats / self.moves if self.moves else 0.0, "density": density}

    def warnings(self, convention: Convention, symbols: Sequence[str]) -> list[str]:
        """Say what misleads."""
        found: list[str] = []
        facts = self.facts()
        share = 100 * facts["repeated"]
        counted = [symbol for symbol in BY_STEPS if symbol in symbols]
        by_node = convention.repeats == "keep" and convention.reference == "path"  # dense walks are logged turn by turn
        if by_node and facts["repeated"] > REPEATED and counted and not self._harmless(symbols):
            values = ""
            if self.valued and "nDTW" in symbols:
                kept, dropped = (100 * total * UNIT / self.valued for total in (self.kept, self.dropped))
                values = f": nDTW is {kept:.1f} % as logged and {dropped:.1f} % without repeats"
            found.append(
                f"{share:.0f} % of the steps repeat the node before, as agents log that turn in place, "
                f"and each counts in {listed(counted)}{values}; use <<repeats=drop>> to leave them out"
            )
        warped = [symbol for symbol in WARPED if symbol in symbols]
        if not 1 / UNLIKE <= facts["density"] <= UNLIKE and warped and not convention.path_step:
            apart, asked = (UNIT * a / b for a, b in ((self.walked, self.steps), (self.led, self.stages)))
            found.append(
                f"steps of the queries are {apart:.2g} m long on average, those of the paths they are compared with "
                f"{asked:.2g} m: {listed(warped)} depend on how densely paths are sampled; resample both with "
                "<<path_step=0.25>>, or use a convention with dense references, such as vlnce"
            )
        return found

    def _harmless(self, symbols: Sequence[str]) -> bool:
        """Whether repeats change no metric that anyone could see: an agent on its reference may stay anywhere."""
        same = abs(self.kept - self.dropped) * UNIT < VISIBLE * self.valued
        return same and "AD" not in symbols and "SED" not in symbols


def usual_convention(form: str, convention: Convention) -> list[str]:
    """Name the convention that users of a format report."""
    usual = USUAL.get(form)
    if usual is None:
        return []
    needs = ", which needs the file of objects (<<reader=objects=FILE>>)" if usual == "reverie" else ""
    return [
        f"results on this kind of references are usually reported by the convention {usual}{needs}; these are by "
        f"{convention.name}, the default: use <<convention={usual}>>, or <<convention={convention.name}>> to keep them"
    ]


def other_split(run: str, references: str) -> list[str]:
    """Say that the names of a run and its references name different splits.

    >>> other_split("agent_val_seen.json", "R2R_val_unseen.json.gz")[0][:58]
    'the run is named after val_seen, the references after val_'
    """
    names = [set(_SPLIT.findall(name.lower())) for name in (run, references)]
    if not all(len(some) == 1 for some in names) or names[0] == names[1]:
        return []
    mine, theirs = (some.pop() for some in names)
    return [f"the run is named after {mine}, the references after {theirs}: make sure that these are what it answers"]


def unlike_paths(seen: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which agents of a comparison log their paths differently, given what was seen of each."""
    found = []
    for (a, one), (b, other) in combinations(seen.items(), 2):
        shares = [float(facts.get("repeated", 0.0)) for facts in (one, other)]
        if max(shares) > REPEATED and max(shares) > 2 * min(shares):
            found.append(
                f"{100 * shares[0]:.0f} % of the steps of {a} and {100 * shares[1]:.0f} % of those of {b} repeat the "
                "node before, which lowers nDTW and SDTW of the one that repeats more; use <<repeats=drop>> for both"
            )
        steps = [float(facts.get("density", 1.0)) for facts in (one, other)]
        if max(steps) > UNLIKE * min(steps):
            found.append(
                f"steps of {a} and {b} differ in length by a factor of {max(steps) / min(steps):.1f}, and nDTW depends "
                "on how densely paths are sampled; resample both with <<path_step=0.25>>"
            )
    return found


def _lengths(batch: PathBatch) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the length of every path of points, and its number of moves that lead elsewhere."""
    steps = np.append(np.linalg.norm(np.diff(batch.places, axis=0), axis=1), 0.0)
    steps[batch.offsets[1:] - 1] = 0.0  # from one path to the next
    first = batch.offsets[:-1]
    return np.add.reduceat(steps, first), np.add.reduceat((steps > 0).astype(np.int64), first)
