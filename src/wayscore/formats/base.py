"""The format protocol, the registry, and how a file's format is found.

A format is any object with a `name`, a `title` and three methods. Those of other packages are found by entry
points of the group `wayscore.formats`, each naming an instance:

    [project.entry-points."wayscore.formats"]
    mine = "my_package.formats:MINE"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Query, Reference, References
from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.beginning import Beginning, look
from wayscore.formats.faults import EMPTY_PATH, Fault
from wayscore.formats.files import Source
from wayscore.formats.refusal import looks_like, refusal

ENTRY_POINTS = "wayscore.formats"
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


def choose(source: Source, kind: Kind, name: str | None, known: Mapping[str, Format]) -> Format:
    """Return the format to read a file with: the one named, or the one that recognises it.

    Plug-ins are asked where none of `known` answers.
    """
    if name is not None:
        formats = known if name in known else {**known, **_installed()}
        if name not in formats:
            raise OptionError(f"there is no format {name!r}{did_you_mean(name, formats)} Known: {', '.join(formats)}")
        return formats[name]
    beginning = look(source.content)
    for find in (known.values, lambda: _installed().values()):
        for candidate in find():
            if kind in candidate.sniff(beginning):
                return candidate
    raise FormatError(f"{source}: {refusal(source.content, beginning, kind, known)}")


def read_with(
    form: Format, source: Source, kind: Kind, options: Mapping[str, Any], known: Mapping[str, Format]
) -> References | EpisodeBatch:
    """Call a format's reader with its options; where it fails on another kind of file, say what that looks like."""
    reader: Callable[..., References | EpisodeBatch] = form.references if kind == "references" else form.run
    takes = [name for name, p in inspect.signature(reader).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in takes:
            what = f"{form.title} references" if kind == "references" else f"runs in the {form.title} format"
            others = f"they have {', '.join(takes)}" if takes else "they have none, so leave it out"
            raise OptionError(f"{what} have no option {option!r}; {others}")
    try:
        return reader(source, **options)
    except FormatError as error:
        beginning = look(source.content)
        likely, *_ = looks_like(beginning, known)
        if likely and kind not in form.sniff(beginning):
            raise FormatError(f"{error.args[0]}; the file looks like {likely}") from None
        raise


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


def _installed() -> dict[str, Format]:
    from importlib.metadata import entry_points

    return {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}
