"""The convention that a table was scored by, as far as a drawing depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayscore.convention import Convention, read_signed

if TYPE_CHECKING:
    from wayscore.evaluation.runs import ScoredRun


def choices_of(run: ScoredRun) -> Convention:
    """Return the choices that a run was scored by, which its table names as signatures do."""
    return read_signed(run.table.settings["convention"])
