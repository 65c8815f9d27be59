"""What wayscore says when the input makes no sense: one sentence, with the place and the remedy.

Every exception descends from `WayscoreError`, so one `except` catches them all; those that a caller could
mistake for a bad value are `ValueError` as well.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from wayscore.escaping import escape

_OPTION = re.compile(r"<<(\w+)(?:=([^>]*))?>>")
MOST_GUESSES, LONGEST_GUESS = 10_000, 200
"""Of more names, or longer ones, none is suggested: looking for the nearest would take minutes."""


class WayscoreError(Exception):
    """The root of every error that wayscore raises on purpose.

    A message may name a setting as <<missing=skip>>: people who called Python read missing="skip", and people who
    typed a command read --missing skip. A value in capitals stands for something of their own: <<graphs=FOLDER>>;
    <<missing>> is the name alone.

    >>> error = FormatError("3 episodes have no answer; use <<missing=skip>> or give <<run_format=NAME>>")
    >>> print(error)
    3 episodes have no answer; use missing="skip" or give run_format=...
    >>> error.as_command()
    '3 episodes have no answer; use --missing skip or give --run-format NAME'
    """

    def __str__(self) -> str:
        return escape(in_python(Exception.__str__(self)), "text")

    def as_command(self) -> str:
        """Return the message in the words of the command line."""
        return escape(in_command(Exception.__str__(self)), "text")


def in_python(message: str) -> str:
    """Return a message with its settings written as Python's keywords."""

    def keyword(found: re.Match[str]) -> str:
        name, value = found.groups()
        if value is None or value.isupper():
            return name if value is None else f"{name}=..."
        return f"{name}={value}" if value.replace(".", "").isdecimal() else f'{name}="{value}"'

    return _OPTION.sub(keyword, message)


def in_command(message: str) -> str:
    """Return a message with its settings written as options of the command."""
    return _OPTION.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2] or ''}".rstrip(), marked(message))


class Sentence(str):
    """A sentence that may name settings as errors do: text in Python's words, which `in_command` can still change.

    >>> said = Sentence("half of the steps repeat a node; use <<repeats=drop>>")
    >>> print(said)
    half of the steps repeat a node; use repeats="drop"
    >>> in_command(said)
    'half of the steps repeat a node; use --repeats drop'
    """

    marked: str

    def __new__(cls, message: str) -> Sentence:
        """Take a message with its marks."""
        made = super().__new__(cls, in_python(marked(message)))
        made.marked = marked(message)
        return made

    def __getnewargs__(self) -> tuple[str]:
        return (self.marked,)


def marked(message: str) -> str:
    """Return a message with its settings still marked, where it has any."""
    text: str = getattr(message, "marked", message)
    return text


class PathError(WayscoreError, ValueError):
    """A path is empty, not finite, of the wrong dimension, or does not fit the rest of its batch."""


class UnknownNodeError(PathError):
    """A path visits a node that its scene does not have."""


class UnknownSceneError(WayscoreError, KeyError):
    """There is no graph of that scene."""

    __str__ = WayscoreError.__str__  # a KeyError would print its message in quotes


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


def check_count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return a setting that counts something, if it is a whole number within its bounds.

    >>> check_count("seed", 7, least=0)
    7
    """
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    number = value.__index__() if whole else least - 1
    if number < least or (most is not None and number > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most:,}"
        raise OptionError(must_be(f"<<{name}>>", [f"a whole number, {bounds}"], value))
    return int(number)


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint naming the nearest known name, or an empty string.

    >>> did_you_mean("ndtw", ["DTW", "nDTW", "SDTW"])
    "; did you mean 'nDTW'?"
    >>> did_you_mean("zebra", ["nDTW"])
    ''
    """
    import difflib  # which most commands do without
    from itertools import islice

    wanted = str(name)[:LONGEST_GUESS]
    names = [str(item) for item in islice(known, MOST_GUESSES)]
    close = [item for item in names if item.lower() == wanted.lower()]
    close = close or difflib.get_close_matches(wanted, [item for item in names if len(item) < LONGEST_GUESS], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def listed(names: Iterable[object], joined: str = "and") -> str:
    """Return names as a sentence lists them.

    >>> listed(["SR"]), listed(["SR", "SPL", "SDTW"])
    ('SR', 'SR, SPL and SDTW')
    """
    *others, last = map(str, names)
    return f"{', '.join(others)} {joined} {last}" if others else last


def must_be(name: str, choices: Sequence[str], value: object) -> str:
    """Return the error of a setting that is none of its choices.

    >>> must_be("--duplicate", ("error", "keep", "all"), "first")
    "--duplicate must be error, keep or all, not 'first'"
    """
    return f"{name} must be {listed(choices, 'or')}, not {shortened(value, 40)}"


class _Shortened(reprlib.Repr):
    """`repr` that looks at no more of a value than it shows."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = self.maxdeque = 20
        self.maxstring = self.maxother = self.maxlong = limit


def shortened(value: object, limit: int = 200) -> str:
    """Return what errors quote of a value that someone gave: its `repr`, in one line of at most `limit` characters.

    >>> shortened("nDTV")
    "'nDTV'"
    >>> len(shortened(list(range(10**6)))), len(shortened("x" * 10**6))
    (75, 200)
    """
    text = re.sub(r"\s*\n\s*", " ", _Shortened(limit).repr(value))
    return text if len(text) <= limit else text[: limit - 3] + "..."


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, in one line that is not too long.

    >>> first_line(ValueError("there is no such column."))
    'there is no such column'
    """
    text = next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."


def need(package: str) -> Any:
    """Import an optional package, or say how to install it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise MissingPackageError(f"this needs {package}, which is not installed: pip install {package}") from None


def check_choice(setting: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among those known."""
    if given not in known:
        raise OptionError(must_be(f"<<{setting}>>", known, given))


def check_threshold(threshold: Any) -> None:
    """Refuse a success threshold that is not a positive, finite number."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) < float("inf"):
        raise OptionError(f"<<threshold>> must be a positive distance such as 3.0, got {shortened(threshold)}")
