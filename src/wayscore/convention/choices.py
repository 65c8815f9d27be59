"""A convention: the set of choices that change a number.

The field's evaluators disagree in silence; every field of a convention is a choice that some evaluator makes
differently. `wayscore.convention.presets` has those of the field by name, and reads users' own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """Every choice that changes a number, and the columns that are printed.

    What is peculiar to one evaluator is not a choice but a column of its own (see `metrics`).

    Attributes:
        name: what `--convention` takes.
        about: whose evaluator it is.
        threshold: d_th, in the units of the distance.
        comparison: success is NE `<=` or `<` d_th.
        goal: "last" is the reference's last node, within the threshold; "nearest" the nearest of the episode's goals,
            within the threshold; "set" one of the episode's goals itself.
        goal_distance: "simulator" where the evaluator takes distances to the goal from the simulator, which sees walls:
            where a run does not record them (`goal_distances`), the distance given stands in, with a warning, and SPL's
            length is the dataset's; "given" where none are expected. Recorded ones are used either way.
        stop: "required" where only queries that stopped can succeed; "any" where all can.
        distance: "given"; "hops": every edge counts 1, in both directions; "directed hops": hops along directed links,
            from query to reference.
        plane: "all" leaves the coordinate that points up out of all distances.
        reference: what DTW, nDTW and SDTW warp to: the reference "path", or the "dense" path that some datasets have.
        repeats: "drop" removes nodes of a query that repeat the one before; "keep" scores each.
        path_step: DTW, nDTW and SDTW warp paths of coordinates that are resampled at this step, metres; 0 for none.
        warping: "exact", or FastDTW of radius 1 as the fastdtw package computes it: "fast" is its pure Python build,
            "fast-compiled" its compiled one, which breaks ties differently.
        spl_length: the length that SPL compares with: the "shortest" path from start to goal, or the "reference"'s own.
        spl_floor: the least denominator of SPL, metres.
        undefined: scores of unreachable episodes are left out of their mean and counted ("drop"), or become "zero".
        instructions: how many instructions per path count, first ones first; 0 for all of them.
        missing: what happens to references that a run does not answer (see `wayscore.evaluation.policies.POLICIES`).
        unknown: what happens to answers to unknown episodes.
        duplicate: what happens to episodes that are answered more than once.
        move: what happens to queries with a step that is not an edge.
        metrics: what the evaluator prints, by symbol; empty for the paper's. "DTW:valan" is a column of symbol DTW that
            is computed as VALAN does (see `wayscore.metrics.evaluators`).
    """

    name: str
    about: str
    threshold: float = 3.0
    comparison: Literal["<=", "<"] = "<="
    goal: Literal["last", "nearest", "set"] = "last"
    goal_distance: Literal["given", "simulator"] = "given"
    stop: Literal["any", "required"] = "any"
    distance: Literal["given", "hops", "directed hops"] = "given"
    plane: Literal["none", "all"] = "none"
    reference: Literal["path", "dense"] = "path"
    repeats: Literal["keep", "drop"] = "keep"
    path_step: float = 0.0
    warping: Literal["exact", "fast", "fast-compiled"] = "exact"
    spl_length: Literal["shortest", "reference"] = "shortest"
    spl_floor: float = 0.0
    undefined: Literal["drop", "zero"] = "drop"
    instructions: int = 0
    missing: Literal["error", "skip", "zero"] = "error"
    unknown: Literal["error", "skip"] = "error"
    duplicate: Literal["error", "keep", "all"] = "error"
    move: Literal["keep", "error", "skip", "zero"] = "keep"
    metrics: tuple[str, ...] = ()

    def __repr__(self) -> str:
        changes = ", ".join(f"{choice}={mine!r}" for choice, (mine, _) in self.differences(PAPER).items())
        return f"<Convention {self.name}{': ' if changes else ''}{changes}>"

    def differences(self, other: "Convention") -> dict[str, tuple[Any, Any]]:
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
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {field.name: get_args(field.type) for field in fields(Convention) if get_origin(field.type) is Literal}
)
"""The values of every choice between words, the paper's first."""
