"""The format protocol, and how formats gather what they read.

A format is any object with a `name`, a `title` and three methods. Those of other packages are found by entry
points of the group `wayscore.formats`, each naming an instance:

    [project.entry-points."wayscore.formats"]
    mine = "my_package.formats:MINE"
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from wayscore.episodes import EpisodeBatch, Query, Reference, References
from wayscore.errors import FormatError
from wayscore.formats.files import EMPTY_PATH, Fault, Source

if TYPE_CHECKING:
    from wayscore.formats.sniff import Beginning

Kind: TypeAlias = Literal["references", "run"]
REFERENCES: tuple[Kind, ...] = ("references",)
RUN: tuple[Kind, ...] = ("run",)


class Format(Protocol):
    """A way in which people write references and runs.

    Attributes:
        name: what `format=` takes.
        title: what sentences call it.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Say what a file with this beginning can be read as: references, a run, both or (empty) neither."""

    def references(self, source: Source) -> References:
        """Read references; further keyword arguments are the format's options."""

    def run(self, source: Source) -> EpisodeBatch:
        """Read the answers of a run; further keyword arguments are the format's options.

        A record that is wrong goes to `source.refuse`, which raises an error, or notes it where `wayscore validate`
        lists them all. The content may be a part of the file: some of its lines.
        """


def make_references(source: Source, form: Format, episodes: Iterable[Reference]) -> References:
    """Gather references, refusing two of one name; note where a test split withholds its paths."""
    by_name: dict[str, Reference] = {}
    withheld = True
    for reference in episodes:
        if reference.episode in by_name:
            raise FormatError(
                f"{source}: episode {reference.episode!r} comes twice; a run could mean either, so keep one of them"
            )
        if not len(reference.path):
            raise FormatError(
                f"{source}, episode {reference.episode!r}: its path is empty; a path has at least one node or point"
            )
        by_name[reference.episode] = reference
        withheld = withheld and len(reference.path) == 1 and not reference.goals
    if not by_name:
        raise FormatError(f"{source}: holds no episodes; expected at least one instruction")
    return References(source.name, form.name, by_name, withheld)


def make_batch(source: Source, queries: Iterable[Query]) -> EpisodeBatch:
    """Gather answers, refusing those without a path."""
    answers = []
    for query in queries:
        if len(query.path):
            answers.append(query)
        else:
            source.refuse(Fault(EMPTY_PATH, episode=query.episode))
    return EpisodeBatch.from_queries(answers, where=lambda row: f"{source}, episode {answers[row].episode!r}")
