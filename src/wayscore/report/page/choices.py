"""The convention that a table was scored by, as far as a drawing depends on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wayscore.convention import CHOICES, PAPER, Convention
from wayscore.convention.presets import CONVENTIONS

if TYPE_CHECKING:
    from wayscore.evaluation.runs import ScoredRun


def choices_of(run: ScoredRun) -> Convention:
    """Return the choices that a run was scored by, which its table names as signatures do."""
    return read_choices(run.table.settings["convention"])


def read_choices(signed: str) -> Convention:
    """Return a convention by what signatures call it; one of somebody's own tells how it departs from the paper's.

    >>> read_choices("vlnce").reference
    'dense'
    >>> read_choices("mine(comparison=<,repeats=drop,resample=0.5)").resample
    0.5
    """
    if signed in CONVENTIONS:
        return CONVENTIONS[signed]
    told = signed.rpartition("(")[2].removesuffix(")").split(",")
    departures: dict[str, Any] = dict(choice.split("=", 1) for choice in told if "=" in choice)
    known = {choice: value for choice, value in departures.items() if value in CHOICES.get(choice, ())}
    if "resample" in departures:
        known["resample"] = float(departures["resample"])
    return replace(PAPER, name=signed, **known)
