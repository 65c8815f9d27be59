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
        "path_step_by": ("even", "moves"),
        "warping": ("exact", "fast"),
        "normalizer": ("R", "sqrt R"),
        "spl_length": ("shortest", "reference", "goals", "dataset"),
        "spl_divisor": ("longer", "own"),
        "spl_at_goal": ("still", "zero", "moved"),
        "sed": ("edges", "nodes", "product"),
        "cls": ("lengths", "nodes"),
        "undefined": ("drop", "zero", "error"),
        "missing": ("error", "skip", "zero"),
        "unknown": ("error", "skip"),
        "move": ("keep", "error", "skip", "zero"),
    }
)
"""The values of every choice between words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """Every choice that changes a number.

    Attributes:
        name: what `--convention` takes.
        about: whose evaluator it is.
        threshold: d_th, in the units of the distance.
        comparison: success is NE `<=` or `<` d_th.
        goal: "last" is the reference's last node, within the threshold; "set" is one of the episode's goals itself.
        stop: "required" where only queries that stopped can succeed; "any" where all can.
        distance: "given"; "hops": every edge counts 1, in both directions; "directed hops": hops along directed links,
            from query to reference.
        plane: which distances use the first two coordinates only: "none", those to the "goal" (NE, ONE, SR, OSR), or
            "all".
        oracle: the nodes that ONE and OSR look at: "all", or those "after start".
        reference: what DTW, nDTW and SDTW warp to: the reference "path", or the "dense" path that some datasets have.
        repeats: "drop" removes nodes of a query that repeat the one before; "keep" scores each.
        path_step: DTW, nDTW and SDTW warp paths of coordinates that are resampled at this step, metres; 0 for none.
        path_step_by: "even" lays points every step along the path, "moves" adds such points within each move.
        warping: "exact", or "fast": FastDTW of radius 1, as the fastdtw package computes it.
        normalizer: what nDTW divides DTW by beside the threshold: |R|, or its square root.
        spl_length: the length that SPL compares with: the "shortest" path from start to the reference's end, the
            "reference"'s own, the shortest path to the nearest of the "goals", or the one that the "dataset" gives.
        spl_divisor: SPL divides by the "longer" of that and the agent's length, or by the agent's "own" plus a
            millimetre, so that it may exceed 1.
        spl_floor: the least denominator of SPL, metres.
        spl_at_goal: SPL of an episode that starts at its goal: "still" is 1 if the agent stayed and 0 if it left,
            "zero" is 0; "moved" is 0 for every agent that did not move, wherever its goal is.
        sed: what SED counts: edits of "edges", divided by the larger number of edges; edits of "nodes", divided by the
            larger number of nodes, a swap of two neighbours being one edit; or edits of nodes divided by the "product"
            of both numbers.
        cls: "lengths" in the distance's units and decay over d_th, or numbers of "nodes" and decay over 1.
        undefined: scores of unreachable episodes are left out of their mean and counted ("drop"), become "zero", or
            are an "error", where an evaluator would print NaN.
        instructions: how many instructions per path count, first ones first; 0 for all of them.
        missing: what happens to references that a run does not answer (see `wayscore.episodes.POLICIES`).
        unknown: what happens to answers to unknown episodes.
        move: what happens to queries with a step that is not an edge.
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
    path_step: float = 0.0
    path_step_by: Literal["even", "moves"] = "even"
    warping: Literal["exact", "fast"] = "exact"
    normalizer: Literal["R", "sqrt R"] = "R"
    spl_length: Literal["shortest", "reference", "goals", "dataset"] = "shortest"
    spl_divisor: Literal["longer", "own"] = "longer"
    spl_floor: float = 0.0
    spl_at_goal: Literal["still", "zero", "moved"] = "still"
    sed: Literal["edges", "nodes", "product"] = "edges"
    cls: Literal["lengths", "nodes"] = "lengths"
    undefined: Literal["drop", "zero", "error"] = "drop"
    instructions: int = 0
    missing: Literal["error", "skip", "zero"] = "error"
    unknown: Literal["error", "skip"] = "error"
    move: Literal["keep", "error", "skip", "zero"] = "keep"
    metrics: tuple[str, ...] = ()

    def __repr__(self) -> str:
        changes = ", ".join(f"{choice}={mine!r}" for choice, (mine, _) in self.differences(PAPER).items())
        return f"<Convention {self.name}{': ' if changes else ''}{changes}>"

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
"""What every other convention is described against."""
