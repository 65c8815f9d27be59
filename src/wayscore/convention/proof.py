"""How far each convention is proven: measured against what the evaluators' own code says (`proof.json`).

The file is written by the tests' comparison with golden files, which holds what each evaluator said of made-up
episodes; a test keeps it true.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wayscore.convention.evaluator import Evaluator

FILE = Path(__file__).with_name("proof.json")


class Proof(NamedTuple):
    """What comparing one golden file came to.

    Attributes:
        values: how many numbers of the evaluator were compared, all of them equal.
        worst: the largest difference, relative above 1.
    """

    values: int
    worst: float


@cache
def proofs() -> dict[str, Proof]:
    """Return what was measured, by golden file."""
    return {name: Proof(**found) for name, found in json.loads(FILE.read_text(encoding="utf-8")).items()}


def proof_of(evaluator: Evaluator) -> str:
    """Say how a convention is proven.

    >>> from wayscore.convention.presets import EVALUATORS
    >>> proof_of(EVALUATORS["openfly"])
    "equal to its own code's output: 1,680 values, worst difference 4e-16"
    >>> proof_of(EVALUATORS["paper"])
    'by hand, by literal oracles and by properties'
    """
    known = [proofs()[name] for name in evaluator.golden if name in proofs()]
    said = "by hand, by literal oracles and by properties"
    if known:
        values, worst = sum(one.values for one in known), max(one.worst for one in known)
        off = f"worst difference {worst:.0e}" if worst else "no difference"
        said = f"equal to its own code's output: {values:,} values, {off}"
    return f"{said}; {evaluator.published}" if evaluator.published else said
