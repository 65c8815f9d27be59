"""Evaluator: whose code a convention follows, what that code calls its columns, and what cannot be matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wayscore.convention.choices import Convention


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The program that a convention reproduces.

    Attributes:
        convention: the choices, and the columns in the order of `columns`.
        source: repository@commit and the file or function; "" for the paper itself.
        columns: what it prints: its own name of each column -> ours.
        measured: further names that it gives to columns of single episodes -> our symbols.
        copies: other programs that compute the same, each with what it adds or leaves out.
        takes: what it takes from the run or the references beside the paths, by the name that `recorded=` has.
        instead: what wayscore does where the program raises, prints NaN or divides by zero.
        unmatched: columns that cannot be reproduced, and why.
        golden: names of the golden files that prove it; none where it is proven by hand.
        published: figures that others published and wayscore reproduces, where there are any.
    """

    convention: Convention
    source: str
    columns: Mapping[str, str]
    measured: Mapping[str, str] = field(default_factory=dict)
    copies: tuple[str, ...] = ()
    takes: Mapping[str, str] = field(default_factory=dict)
    instead: str = ""
    unmatched: Mapping[str, str] = field(default_factory=dict)
    golden: tuple[str, ...] = ()
    published: str = ""

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
    measured: Mapping[str, str] | None = None,
    copies: tuple[str, ...] = (),
    takes: Mapping[str, str] | None = None,
    instead: str = "",
    unmatched: Mapping[str, str] | None = None,
    golden: tuple[str, ...] | None = None,
    published: str = "",
    **choices: Any,
) -> Evaluator:
    """Return an evaluator with its convention; its golden file has its name, unless others are named."""
    metrics = tuple(dict.fromkeys(columns.values()))
    convention = Convention(name=name, about=about, metrics=metrics, **choices)
    files = (name,) if golden is None else golden
    return Evaluator(
        convention, source, columns, measured or {}, copies, takes or {}, instead, unmatched or {}, files, published
    )
