"""A convention: the set of choices that change a number.

The field's evaluators disagree in silence; every field of a convention is a choice that some evaluator makes
differently. `wayscore.convention.presets` has those of the field by name, and reads users' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "comparison": ("<=", "<"),
        "goal": ("last", "set"),
        "stop": ("any", "required"),
        "distance": ("given", "hops", "directed hops"),
        "plane": ("none", "goal", "all"),
        "oracle": ("all", "after start"),
        "reference": ("path", "dense"),
        "repeats": ("keep", "drop"),
        "resampling": ("even", "moves"),
        "warping": ("exact", "fast"),
        "normalizer": ("R", "sqrt R"),
        "spl_length": ("shortest", "reference", "goals", "dataset"),
        "spl_divisor": ("longer", "own"),
        "spl_at_goal": ("still", "zero", "moved"),
        "sed": ("edges", "places", "product"),
        "cls": ("lengths", "places"),
        "undefined": ("drop", "zero", "error"),
        "missing": ("error", "skip", "zero"),
        "unknown": ("error", "skip"),
        "move": ("keep", "error", "skip", "zero"),
    }
)
"""The values that each choice of words can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """Every choice that changes a number.

    Attributes:
        name: what `--convention` takes.
        about: whose evaluator it is.
        threshold: d_th, in the units of the distance.
        comparison: success is NE `<=` or `<` d_th.
        goal: "last" is the reference's last place, within the threshold; "set" is one of the episode's goals itself.
        stop: "required" where a query that never says that it stopped is no success; "any" where it may be.
        distance: "given"; "hops": every edge counts 1 both ways, whatever its length; "directed hops": the same from
            query to reference along edges as they lead.
        plane: which distances leave out all but the first two coordinates: "none", those to the "goal" (NE, ONE, SR,
            OSR), or "all".
        oracle: the places that ONE and OSR look at: "all", or those "after start".
        reference: what DTW and its kin warp to: the reference "path", or the "dense" walk that some datasets give.
        repeats: "drop" takes places of a query that repeat the one before as one; "keep" scores each.
        resample: DTW and its kin warp paths of coordinates sampled anew at this step, metres; 0 for as they are.
        resampling: "even" lays places every step along the path, "moves" adds such places within each move.
        warping: "exact", or "fast": FastDTW of radius 1, as the fastdtw package computes it.
        normalizer: what nDTW divides DTW by beside the threshold: |R|, or its square root.
        spl_length: the length that SPL compares with: the "shortest" way from start to the reference's end, the
            "reference"'s own, the shortest to the nearest of the "goals", or the one that the "dataset" gives.
        spl_divisor: SPL divides by the "longer" of that and the agent's length, or by the agent's "own" and a
            millimetre, so that it may exceed 1.
        spl_floor: the least denominator of SPL, metres.
        spl_at_goal: SPL of an episode that starts at its goal: "still" is 1 if the agent stayed and 0 if it left,
            "zero" is 0; "moved" is 0 too, wherever the goal, unless the agent moved.
        sed: what SED counts: edits of "edges" by the greater number of edges; of "places" by the greater number of
            places, a swap of two neighbours being one edit; or of places by the "product" of both numbers.
        cls: "lengths" in the distance's units and decay over d_th, or numbers of "places" and decay over 1.
        undefined: scores that no way exists for "drop" out of their mean (and are counted), become "zero", or are an
            "error", where an evaluator would print NaN.
        instructions: how many instructions of a path count, first ones first; 0 for all of them.
        missing: what becomes of references that a run does not answer (see `wayscore.episodes.POLICIES`).
        unknown: what becomes of answers to no reference.
        move: what becomes of queries that take a step that is no edge.
        metrics: what the evaluator prints; empty for all.
    """

    name: str
    about: str
    threshold: float = 3.0
    comparison: Literal["<=", "<"] = "<="
    goal: Literal["last", "set"] = "last"
    stop: Literal["any", "required"] = "any"
    distance: Literal["given", "hops", "directed hops"] = "given"
    plane: Literal["none", "goal", "all"] = "none"
    oracle: Literal["all", "after start"] = "all"
    reference: Literal["path", "dense"] = "path"
    repeats: Literal["keep", "drop"] = "keep"
    resample: float = 0.0
    resampling: Literal["even", "moves"] = "even"
    warping: Literal["exact", "fast"] = "exact"
    normalizer: Literal["R", "sqrt R"] = "R"
    spl_length: Literal["shortest", "reference", "goals", "dataset"] = "shortest"
    spl_divisor: Literal["longer", "own"] = "longer"
    spl_floor: float = 0.0
    spl_at_goal: Literal["still", "zero", "moved"] = "still"
    sed: Literal["edges", "places", "product"] = "edges"
    cls: Literal["lengths", "places"] = "lengths"
    undefined: Literal["drop", "zero", "error"] = "drop"
    instructions: int = 0
    missing: Literal["error", "skip", "zero"] = "error"
    unknown: Literal["error", "skip"] = "error"
    move: Literal["keep", "error", "skip", "zero"] = "keep"
    metrics: tuple[str, ...] = ()

    @property
    def signed(self) -> str:
        """The name, and for a convention of one's own every choice in which it departs from the paper's.

        >>> PAPER.signed
        'paper'
        >>> from dataclasses import replace
        >>> replace(PAPER, name="mine", comparison="<", repeats="drop").signed
        'mine(comparison=<,repeats=drop)'
        """
        from wayscore.convention.presets import CONVENTIONS

        if self == CONVENTIONS.get(self.name):
            return self.name
        departures = self.differences(PAPER)
        departures.pop("metrics", None)  # which numbers are printed changes none of them
        return f"{self.name}({','.join(f'{choice}={mine}' for choice, (mine, _) in departures.items())})"

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Return the choices in which two conventions differ, with both values.

        >>> from dataclasses import replace
        >>> PAPER.differences(replace(PAPER, comparison="<", spl_floor=0.01))
        {'comparison': ('<=', '<'), 'spl_floor': (0.0, 0.01)}
        """
        pairs = {
            field.name: (getattr(self, field.name), getattr(other, field.name))
            for field in fields(Convention)
            if field.name not in ("name", "about")
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


PAPER = Convention(name="paper", about="Ilharco et al. 2019, as its table of metrics defines them")
"""What every other convention departs from."""
