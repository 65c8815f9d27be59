"""Rankings as JSON lines: each is one rater's order of the five queries of one set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from wayscore.errors import FormatError
from wayscore.formats.base import read
from wayscore.formats.decoding import decode_each, place
from wayscore.lab.study.files import write_bytes
from wayscore.lab.study.model import QUERIES, Study

EXPECTED = 'lines such as {"rater": "1", "set": "uc-001", "groups": [[2], [0, 4], [1], [3]]}'


class Ranking(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rater's order of one set.

    >>> Ranking("1", "uc-001", [[2], [0, 4], [1], [3]]).ranks()
    [2.5, 4.0, 1.0, 5.0, 2.5]
    """

    rater: str  # any text; for a rater of an assignment, its number
    set: str
    groups: list[list[int]]  # query numbers, the best group first; queries in one group are tied
    seconds: float = 0.0  # how long it took; 0 if that is not known
    at: str = ""  # when it was given, ISO 8601, or empty
    simulated: bool = False  # True if no person gave it

    def ranks(self) -> list[float]:
        """Return the rank of each query, 1 for the best; tied queries share the mean of their ranks."""
        ranks = [0.0] * sum(map(len, self.groups))
        before = 0
        for group in self.groups:
            for query in group:
                ranks[query] = before + (1 + len(group)) / 2
            before += len(group)
        return ranks


def fault_of(groups: Sequence[Sequence[int]], *, ties: bool = True) -> str:
    """Return what is wrong with an order of five queries, or an empty text.

    >>> fault_of([[2], [0], [1], [3], [4]])
    ''
    >>> fault_of([[2], [0], [1, 1]])
    'an order must name each of the queries 0 to 4 once, not [[2], [0], [1, 1]]'
    >>> fault_of([[2], [0, 1], [3], [4]], ties=False)
    'queries 0 and 1 are tied, which the study does not allow'
    """
    shown = [list(group) for group in groups]
    if sorted(query for group in shown for query in group) != list(range(QUERIES)):
        return f"an order must name each of the queries 0 to {QUERIES - 1} once, not {shown}"
    if not all(shown):
        return f"an order must not have empty ranks, got {shown}"
    tied = next((group for group in shown if len(group) > 1), None)
    if tied and not ties:
        return f"queries {tied[0]} and {tied[1]} are tied, which the study does not allow"
    return ""


def read_rankings(path: str | os.PathLike[str], study: Study | None = None) -> list[Ranking]:
    """Read rankings; if the study is given, unknown sets and forbidden ties are errors too.

    Raises:
        FormatError: names the line that is wrong. A rater who ranks a set twice is an error too.
    """
    source = read(path)
    found = []
    first: dict[tuple[str, str], int | str] = {}
    known = None if study is None else {one.name for one in study.sets}
    for number, ranking in decode_each(source, Ranking, names=("set",), expected=EXPECTED):
        fault = fault_of(ranking.groups, ties=study is None or study.ties)
        key = ranking.rater, ranking.set
        if not ranking.rater:
            fault = "the rater has no name"
        elif known is not None and ranking.set not in known:
            fault = f"the study has no set {ranking.set!r}; are these the answers to another study?"
        elif key in first:
            before = place(first[key], source)
            fault = f"rater {ranking.rater!r} ranks {ranking.set!r} again, after {before}; keep one of the two"
        if fault:
            raise FormatError(f"{source}, {place(number, source)}: {fault}")
        first[key] = number
        found.append(ranking)
    return found


def write_rankings(path: str | os.PathLike[str], rankings: Iterable[Ranking]) -> None:
    """Write rankings, one per line; a name that ends in .gz is gzipped."""
    write_bytes(Path(path), rankings_bytes(rankings))


def rankings_bytes(rankings: Iterable[Ranking]) -> bytes:
    """Return the content of a file of rankings."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in rankings)
