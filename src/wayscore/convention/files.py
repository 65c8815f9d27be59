"""Conventions that users write as TOML files.

base = "duet"          # the convention that it changes; "paper" by default
comparison = "<="
threshold = 2.0
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from wayscore import reading
from wayscore.convention.choices import CHOICES, PAPER, Convention
from wayscore.errors import FormatError, WayscoreError, did_you_mean, first_line, shortened

SIZE_LIMIT = 2**20
"""Bytes that a file may have; one with every choice has a thousand."""


def read_convention(path: Path, find: Callable[[str], Convention]) -> Convention:
    """Read a convention from a TOML file.

    Args:
        path: the file; the convention has its name.
        find: returns the convention that the file says it changes.
    """
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
        start = find(base)
    except WayscoreError:
        raise
    except ValueError as error:  # also text that is not UTF-8, and numbers of thousands of digits
        raise FormatError(f"{path}: not TOML: {first_line(error)}") from None
    except RecursionError:
        raise FormatError(f"{path}: is nested too deeply, or its base leads back to it") from None
    changes = {name: _checked(path, name, value) for name, value in given.items()}
    return replace(start, **{"name": path.stem, "about": f"{start.name}, changed by {path.name}", **changes})


def _checked(path: Path, name: str, value: Any) -> Any:
    """Return one field of a TOML file, if there is such a field and it can have this value."""
    kinds = {field.name: type(getattr(PAPER, field.name)) for field in fields(Convention)}
    if name not in kinds:
        known = ", ".join(kinds)
        raise FormatError(
            f"{path}: there is no choice {shortened(name)}{did_you_mean(name, kinds) or '.'} Known: {known}"
        )
    if name in CHOICES and value not in CHOICES[name]:
        raise FormatError(f"{path}: {name} must be one of {', '.join(CHOICES[name])}, got {shortened(value)}")
    if kinds[name] is tuple:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise FormatError(f'{path}: {name} must be a list such as ["SR", "nDTW"], got {shortened(value)}')
        return tuple(value)
    if kinds[name] is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kinds[name]:
        raise FormatError(f"{path}: {name} must be a {kinds[name].__name__}, got {shortened(value)}")
    return value
