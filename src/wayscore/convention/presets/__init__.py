"""The conventions that come with wayscore, by name, and how signatures name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wayscore.convention.choices import CHOICES, PAPER, Convention
from wayscore.convention.evaluator import Evaluator
from wayscore.convention.files import read_convention
from wayscore.convention.presets import dialogs, flights, graphs, objects, rooms, streets
from wayscore.errors import OptionError, did_you_mean, shortened

EVALUATORS: Mapping[str, Evaluator] = MappingProxyType(
    {
        one.convention.name: one
        for family in (graphs, dialogs, objects, rooms, flights, streets)
        for one in family.EVALUATORS
    }
)
"""Whose code each convention follows, by the convention's name."""
CONVENTIONS: Mapping[str, Convention] = MappingProxyType({name: one.convention for name, one in EVALUATORS.items()})
"""The conventions that come with wayscore, by name."""


def conventions() -> Mapping[str, Convention]:
    """Return the conventions that come with wayscore, by name.

    >>> "duet" in conventions()
    True
    """
    return CONVENTIONS


def find_convention(wanted: str | Path | Convention | None) -> Convention:
    """Return a convention by name (in any case), from a TOML file, or as it is; None is the paper's.

    >>> find_convention("DUET").spl_length
    'reference'
    """
    if wanted is None:
        return PAPER
    if type(wanted) is str and wanted in CONVENTIONS:
        return CONVENTIONS[wanted]
    if isinstance(wanted, Convention):
        return wanted
    if not isinstance(wanted, str | Path):
        raise OptionError(f"convention must be a name, a .toml file or a Convention, got {shortened(wanted)}")
    if str(wanted).endswith(".toml"):
        return read_convention(Path(wanted), find_convention)
    name = str(wanted).lower()
    if name not in CONVENTIONS:
        raise OptionError(
            f"there is no convention {shortened(str(wanted))}{did_you_mean(wanted, CONVENTIONS) or ';'} `wayscore "
            "conventions` lists all of them; a file of your own ends in .toml"
        )
    return CONVENTIONS[name]


def signed(convention: Convention) -> str:
    """Return what signatures call a convention: its name, and every choice of a changed one that is not the paper's.

    >>> signed(PAPER)
    'paper'
    >>> signed(replace(PAPER, name="mine", comparison="<", repeats="drop"))
    'mine(comparison=<,repeats=drop)'
    """
    preset = CONVENTIONS.get(convention.name)
    if convention is preset or convention == preset:
        return convention.name
    changes = {choice: mine for choice, (mine, _) in convention.differences(PAPER).items()}
    own = [key for key in changes.pop("metrics", ()) if ":" in key]  # which others are printed changes no number
    if own:
        changes["metrics"] = "+".join(own)
    return f"{convention.name}({','.join(f'{choice}={mine}' for choice, mine in changes.items())})"


def read_signed(text: str) -> Convention:
    """Return the convention that `signed` named.

    >>> read_signed("vlnce").reference
    'dense'
    >>> read_signed("mine(comparison=<,path_step=0.5)").path_step
    0.5
    """
    if text in CONVENTIONS:
        return CONVENTIONS[text]
    name, _, changes = text.removesuffix(")").partition("(")
    found: dict[str, Any] = {}
    for change in changes.split(","):
        choice, _, value = change.partition("=")
        kind = type(getattr(PAPER, choice, None))
        if value in CHOICES.get(choice, ()):
            found[choice] = value
        elif choice == "metrics":
            found[choice] = tuple(value.split("+"))
        elif kind in (int, float):
            try:
                found[choice] = kind(value)
            except ValueError:
                continue  # written by another version, or by hand
    return replace(PAPER, name=name, about="", **found)
