"""Types of what `wayscore validate` and `wayscore conventions` print as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from docs.building.schemas.runs import Count
from wayscore.convention.choices import CHOICES
from wayscore.evaluation.policies import POLICIES
from wayscore.formats.files import Fault


class EpisodeProblem(Struct, forbid_unknown_fields=True):
    """An episode with a problem.

    Attributes:
        episode: its name.
        what: the details; empty where the name says all.
    """

    episode: str
    what: str


Problems = msgspec.defstruct(
    "Problems",
    [("damaged", list[Fault] | UnsetType, UNSET)]
    + [(kind, list[EpisodeProblem] | UnsetType, UNSET) for kind in POLICIES],
    namespace={"__doc__": "The first problems of each kind; only kinds that there are."},
    forbid_unknown_fields=True,
)
Counts = msgspec.defstruct(
    "Counts",
    [(kind, Annotated[int, Meta(ge=1)] | UnsetType, UNSET) for kind in ("damaged", *POLICIES)],
    namespace={"__doc__": "How many problems there are of each kind; only kinds that there are."},
    forbid_unknown_fields=True,
)


class Validation(Struct, forbid_unknown_fields=True):
    """What is wrong with a run: what `wayscore validate --format json` prints.

    Attributes:
        run: its name.
        references: the name of the ground-truth paths.
        answers: how many predictions could be read.
        episodes: how many episodes there are to answer.
        counts: of all problems.
        problems: the first of each kind, or with --all every one.
        warnings: what is right by the letter and would mislead in a score.
    """

    run: str
    references: str
    answers: Count
    episodes: Count
    counts: Counts  # type: ignore[valid-type]
    problems: Problems  # type: ignore[valid-type]
    warnings: list[str]


NUMBERS = {"threshold": Annotated[float, Meta(gt=0)], "path_step": float, "spl_floor": float, "instructions": Count}
Choices = msgspec.defstruct(
    "Choices",
    [*NUMBERS.items(), *((name, Literal[values]) for name, values in CHOICES.items())],  # type: ignore[valid-type]
    namespace={"__doc__": "Every choice of a convention; `wayscore.Convention` explains them."},
    forbid_unknown_fields=True,
)


class Column(Struct, forbid_unknown_fields=True):
    """A column that a convention prints.

    Attributes:
        symbol: of the metric.
        formula: as the convention computes it.
        names: what the evaluator itself calls the column.
    """

    symbol: str
    formula: str
    names: list[str]


class ConventionObject(Struct, forbid_unknown_fields=True):
    """A convention: one line of `wayscore conventions --format json`.

    Attributes:
        name: what --convention takes.
        about: whose evaluator it is.
        source: the repository, the commit and the file that it follows; null for the paper and for your own.
        proven: how far it is proven; null for your own.
        copies: other programs that compute the same.
        choices: every choice that changes a number.
        columns: what it prints.
        takes: what it takes from the run or the references beside the paths, by name.
        instead: what wayscore does where the evaluator fails or prints NaN; null where there is nothing to say.
        unmatched: columns of the evaluator that cannot be reproduced, and why.
    """

    name: str
    about: str
    source: str | None
    proven: str | None
    copies: list[str]
    choices: Choices  # type: ignore[valid-type]
    columns: Annotated[list[Column], Meta(min_length=1)]
    takes: dict[str, str]
    instead: str | None
    unmatched: dict[str, str]
