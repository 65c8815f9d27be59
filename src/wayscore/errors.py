"""What wayscore says when the input makes no sense: one sentence, with the place and the remedy.

Every exception descends from `WayscoreError`, so one `except` catches them all; those that a caller could
mistake for a bad value are `ValueError` as well.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WayscoreError(Exception):
    """The root of every error that wayscore raises on purpose."""


class PathError(WayscoreError, ValueError):
    """A path is empty, not finite, of the wrong dimension, or does not fit the rest of its batch."""


class UnknownNodeError(PathError):
    """A path visits a place that its scene does not have."""


class UnknownSceneError(WayscoreError, KeyError):
    """There is no graph of that scene."""

    __str__ = Exception.__str__  # a KeyError would print its message in quotes


class DistanceError(WayscoreError, ValueError):
    """A graph, table, grid or function cannot serve as a distance."""


class OptionError(WayscoreError, ValueError):
    """A threshold, radius, metric, convention or other setting is out of range or unknown."""


class FormatError(WayscoreError, ValueError):
    """A file is not what it should be."""


class OutputError(WayscoreError, OSError):
    """A file cannot be written."""


class MissingPackageError(WayscoreError, ImportError):
    """An optional package is needed and not installed."""


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint naming the nearest known name, or an empty string.

    >>> did_you_mean("ndtw", ["DTW", "nDTW", "SDTW"])
    "; did you mean 'nDTW'?"
    >>> did_you_mean("zebra", ["nDTW"])
    ''
    """
    names = [str(item) for item in known]
    close = [item for item in names if item.lower() == str(name).lower()]
    close = close or difflib.get_close_matches(str(name), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, in one line that is not too long.

    >>> first_line(ValueError("there is no such column."))
    'there is no such column'
    """
    text = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return text if len(text) <= 160 else text[:157] + "..."
