"""The conventions that come with wayscore, by name; those that users write as TOML; and how signatures name them.

base = "duet"          # the convention that a TOML file changes; "paper" by default
comparison = "<="
threshold = 2.0
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wayscore import reading
from wayscore.convention.choices import CHOICES, PAPER, Convention
from wayscore.convention.evaluator import Evaluator
from wayscore.convention.presets import flights, graphs, objects, rooms
from wayscore.errors import FormatError, OptionError, WayscoreError, did_you_mean, first_line, shortened

_ALL = (*graphs.WALKS, *graphs.DIALOGS, *objects.EVALUATORS, *rooms.EVALUATORS, *flights.EVALUATORS, *graphs.STREETS)
EVALUATORS: Mapping[str, Evaluator] = MappingProxyType({one.convention.name: one for one in _ALL})
"""Whose code each convention follows, by the convention's name."""
CONVENTIONS: Mapping[str, Convention] = MappingProxyType({name: one.convention for name, one in EVALUATORS.items()})
"""The conventions that come with wayscore, by name."""
SIZE_LIMIT = 2**20
"""Bytes that a TOML file may have; one with every choice has a thousand."""


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
        return read_convention(Path(wanted))
    name = str(wanted).lower()
    if name not in CONVENTIONS:
        raise OptionError(
            f"there is no convention {shortened(str(wanted))}{did_you_mean(wanted, CONVENTIONS) or ';'} `wayscore "
            "conventions` lists all of them; a file of your own ends in .toml"
        )
    return CONVENTIONS[name]


def read_convention(path: Path) -> Convention:
    """Read a convention from a TOML file; it has the file's name."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    if not path.exists():
        raise FormatError(f"{path}: no such file; a convention of your own is a .toml file")
    try:
        given = tomllib.loads(reading.read_bytes(path, SIZE_LIMIT).decode())
        base = given.pop("base", "paper")
        if not isinstance(base, str):
            raise FormatError(f"{path}: base must be the name of a convention, got {shortened(base)}")
        start = find_convention(base)
    except WayscoreError:
        raise
    except ValueError as error:  # also text that is not UTF-8, and numbers of thousands of digits
        raise FormatError(f"{path}: not TOML: {first_line(error)}") from None
    except RecursionError:
        raise FormatError(f"{path}: is nested too deeply, or its base leads back to it") from None
    kinds = {field.name: type(getattr(PAPER, field.name)) for field in fields(Convention)}
    changes: dict[str, Any] = {"name": path.stem, "about": f"{start.name}, changed by {path.name}"}
    for name, value in given.items():
        if name not in kinds:
            hint = did_you_mean(name, kinds) or "."
            raise FormatError(f"{path}: there is no choice {shortened(name)}{hint} Known: {', '.join(kinds)}")
        if name in CHOICES and value not in CHOICES[name]:
            raise FormatError(f"{path}: {name} must be one of {', '.join(CHOICES[name])}, got {shortened(value)}")
        if kinds[name] is tuple:
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise FormatError(f'{path}: {name} must be a list such as ["SR", "nDTW"], got {shortened(value)}')
            value = tuple(value)
        if kinds[name] is float and type(value) is int:
            value = float(value)
        if type(value) is not kinds[name]:
            raise FormatError(f"{path}: {name} must be a {kinds[name].__name__}, got {shortened(value)}")
        changes[name] = value
    return replace(start, **changes)


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
