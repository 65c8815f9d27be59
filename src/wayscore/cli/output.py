"""What a verb prints: results as wide as the terminal, warnings on standard error, and progress."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

import click

from wayscore.errors import OutputError, in_command
from wayscore.escaping import escape

PLAIN = str.maketrans(
    {"─": "-", "↑": "^", "↓": "v", "±": "+-", "…": "~", "–": "-", "−": "-", "“": '"', "”": '"', "’": "'"}
)
"""What is printed where a terminal has only ASCII; what else it cannot print becomes a question mark."""
FOR_PROGRAMS = ("json", "csv")
PATIENCE = 0.5  # seconds of work before a progress bar is shown
BAR = 30  # characters of a progress bar
WIDTH = 100  # columns where the output is no terminal


class Progress(Protocol):
    """Called before each piece of work; without numbers, the calls themselves are counted."""

    def __call__(self, what: str, done: int | None = None, total: int | None = None) -> None:
        """Say what is being done, and how much is finished."""


def say(text: str, *, err: bool = False, nl: bool = True, color: bool | None = None) -> None:
    """Print text on standard output or standard error; everything that a verb prints comes through here.

    Args:
        text: what to print; invisible characters are escaped.
        err: print it on standard error.
        nl: end the line.
        color: the text is escaped already, and may contain codes of colours, which are left out if this is False.
    """
    if color is None:
        text = escape(text, "text")
    if err and sys.stderr is None:
        return
    if not err and sys.stdout is None:
        raise OutputError("standard output is closed; give it a place, such as a file with > FILE")
    try:
        click.echo(text, nl=nl, err=err, color=color)
    except OSError as error:
        if err or isinstance(error, BrokenPipeError):  # a reader who has enough is no error
            raise
        from wayscore.writing import in_few_words

        raise OutputError(f"standard output: cannot be written: {in_few_words(error)}") from None


def show(render: Callable[..., str], form: str = "text", warnings: Iterable[str] = ()) -> None:
    """Print what a function such as `Document.render` makes of a form, the terminal's width and its colours.

    Colours are for terminals; NO_COLOR and FORCE_COLOR decide where they are set. Warnings go to standard error if
    programs read the form; in other forms they are below the table already.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    color = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or terminal)
    text = render(form, width=shutil.get_terminal_size(fallback=(WIDTH, 24)).columns, color=color)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if not encoding.lower().startswith("utf"):
        text = text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
    say(text, nl=False, color=color)
    if form in FOR_PROGRAMS:
        warn(warnings)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on standard error, each once, in the words of the command line."""
    for warning in dict.fromkeys(warnings):
        say(f"wayscore: {in_command(warning)}", err=True)


@contextmanager
def progress(steps: int | None = None) -> Iterator[Progress]:
    """Show a bar on standard error, if that is a terminal and the work takes longer than a moment.

    Args:
        steps: how many calls there will be, for work that counts by calls.
    """
    begun, calls, drawn = monotonic(), -1, False

    def advance(what: str, done: int | None = None, total: int | None = None) -> None:
        nonlocal calls, drawn
        calls += 1
        if sys.stderr is None or not sys.stderr.isatty() or monotonic() - begun < PATIENCE:
            return
        drawn = True
        done, total = calls if done is None else done, steps if total is None else total
        counted = f"{done:,}"
        if total:
            filled = min(BAR, BAR * done // total)
            counted = f"[{'#' * filled}{'-' * (BAR - filled)}] {done:,}/{total:,}"
        room = shutil.get_terminal_size().columns - 1
        say("\r\x1b[K" + f"{counted} {escape(what)}"[:room], err=True, nl=False, color=True)

    try:
        yield advance
    finally:
        if drawn:
            say("\r\x1b[K", err=True, nl=False, color=True)
