"""Evaluator: whose code a convention follows, what that code calls its columns, and how far that is proven.

`proof.json` holds how wayscore compares with the output of the evaluators' own code on made-up episodes. The tests'
comparison with golden files writes it, and a test keeps it true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from wayscore.convention.choices import Convention

FILE = Path(__file__).with_name("proof.json")
NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The program that a convention reproduces."""

    convention: Convention
    source: str  # repository@commit and the file or function; "" for the paper itself
    columns: Mapping[str, str]  # what it prints: its own name of each column -> ours
    measured: Mapping[str, str] = field(default_factory=dict)  # its names for columns of single episodes -> ours
    copies: tuple[str, ...] = ()  # other programs that compute the same, each with what it adds or leaves out
    takes: Mapping[str, str] = field(default_factory=dict)  # what it takes beside the paths, by its name in `recorded=`
    instead: str = ""  # what wayscore does where the program raises, prints NaN or divides by zero
    unmatched: Mapping[str, str] = field(default_factory=dict)  # columns that cannot be reproduced, and why
    golden: tuple[str, ...] = ()  # the golden files that prove it; none where it is proven by hand
    published: str = ""  # figures that others published and wayscore reproduces

    @property
    def names(self) -> dict[str, str]:
        """The evaluator's own name of each column -> our symbol."""
        return {name: key.partition(":")[0] for name, key in {**self.measured, **self.columns}.items()}


def evaluator(
    name: str,
    about: str,
    source: str,
    columns: Mapping[str, str],
    *,
    measured: Mapping[str, str] = NONE,
    copies: tuple[str, ...] = (),
    takes: Mapping[str, str] = NONE,
    instead: str = "",
    unmatched: Mapping[str, str] = NONE,
    golden: tuple[str, ...] = (),
    published: str = "",
    **choices: Any,
) -> Evaluator:
    """Return an evaluator with its convention; its golden file has its name, unless others are named."""
    convention = Convention(name=name, about=about, metrics=tuple(dict.fromkeys(columns.values())), **choices)
    files = golden or (name,)
    return Evaluator(convention, source, columns, measured, copies, takes, instead, unmatched, files, published)


class Proof(NamedTuple):
    """What comparing one golden file came to."""

    values: int  # how many numbers of the evaluator were compared, all of them equal
    worst: float  # the largest difference, relative above 1


@cache
def proofs() -> dict[str, Proof]:
    """Return what was measured, by golden file."""
    return {name: Proof(**found) for name, found in json.loads(FILE.read_text(encoding="utf-8")).items()}


def proof_of(evaluator: Evaluator) -> str:
    """Describe how a convention is proven.

    >>> from wayscore.convention.presets import EVALUATORS
    >>> proof_of(EVALUATORS["openfly"])
    "equal to its own code's output: 1,680 values, worst difference 4e-16"
    >>> proof_of(EVALUATORS["paper"])
    'by hand, by literal oracles and by properties'
    """
    known = [proofs()[name] for name in evaluator.golden if name in proofs()]
    text = "by hand, by literal oracles and by properties"
    if known:
        values, worst = sum(one.values for one in known), max(one.worst for one in known)
        off = f"worst difference {worst:.0e}" if worst else "no difference"
        text = f"equal to its own code's output: {values:,} values, {off}"
    return f"{text}; {evaluator.published}" if evaluator.published else text
