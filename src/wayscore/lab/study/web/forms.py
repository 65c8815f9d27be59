"""Forms that are sent: read with limits, and turned into an order of queries or a message about what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

import anyio
from starlette.requests import ClientDisconnect, Request

from wayscore.errors import listed
from wayscore.lab.study.model import QUERIES
from wayscore.lab.study.web.security import RefusalError

LETTERS = "ABCDE"
"""What the pictures of a set are called, in the order of the page."""
MOST_BYTES = 4096
MOST_FIELDS = 20
MOST_SECONDS = 10.0
"""How long a form may take to arrive."""
FORM_TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request, known: Sequence[str]) -> dict[str, str]:
    """Return the fields of a form that was sent: those known, each at most once.

    Raises:
        RefusalError: it comes from another site, or is too large, too slow, of another kind, or has other fields.
    """
    too_large = RefusalError(413, "This is too large for an answer. Please open your link again.")
    other = RefusalError(400, "This is not what the form on the page sends. Please open your link again.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusalError(403, "This form was sent from another site. Please open your link again.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise RefusalError(415, "This page only accepts answers from its own form. Please open your link again.")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MOST_BYTES:
        raise too_large
    body = b""
    try:
        with anyio.fail_after(MOST_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MOST_BYTES:
                    raise too_large
    except (TimeoutError, ClientDisconnect):
        raise RefusalError(408, "Your answer took too long to arrive. Please send it again.") from None
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise other from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or not set(fields) <= set(known):
        raise other
    return fields


RANK_FIELDS = {letter: f"rank-{letter}" for letter in LETTERS}
"""The fields that hold the ranks of the pictures."""
ANSWER_FIELDS = ("form", "csrf", "seconds", *RANK_FIELDS.values())


def ranks_given(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the rank that was chosen for each picture, or an empty text if none was."""
    numbers = [str(number) for number in range(1, QUERIES + 1)]
    chosen = {letter: fields.get(name, "") for letter, name in RANK_FIELDS.items()}
    return {letter: rank if rank in numbers else "" for letter, rank in chosen.items()}


def read_order(ranks: Mapping[str, str], order: Sequence[int], *, ties: bool) -> tuple[list[list[int]], str]:
    """Return the queries in groups, best first, or what is wrong with the ranks that were chosen.

    `order` has the number of the query in each picture, from the first picture on.

    >>> read_order({"A": "2", "B": "1", "C": "3", "D": "5", "E": "4"}, [4, 3, 2, 1, 0], ties=False)
    ([[3], [4], [2], [0], [1]], '')
    >>> read_order({"A": "1", "B": "1", "C": "3", "D": "5", "E": "5"}, [0, 1, 2, 3, 4], ties=True)
    ([[0, 1], [2], [3, 4]], '')
    >>> read_order({"A": "1", "B": "1", "C": "3", "D": "5", "E": "4"}, [0, 1, 2, 3, 4], ties=False)[1]
    'Pictures A and B both have rank 1. Give each picture its own rank.'
    >>> read_order({"A": "1", "B": "", "C": "3", "D": "5", "E": ""}, [0, 1, 2, 3, 4], ties=True)[1]
    'Choose a rank for pictures B and E as well.'
    """
    missing = [letter for letter in LETTERS if not ranks[letter]]
    if missing:
        which = f"picture{'s' if len(missing) > 1 else ''} {listed(missing)}"
        return [], f"Choose a rank for {which}{' as well' if len(missing) < QUERIES else ''}."
    groups: dict[str, list[int]] = {}
    letters: dict[str, list[str]] = {}
    for letter, query in zip(LETTERS, order, strict=True):
        groups.setdefault(ranks[letter], []).append(query)
        letters.setdefault(ranks[letter], []).append(letter)
    shared = next((rank for rank in sorted(letters) if len(letters[rank]) > 1), None)
    if shared and not ties:
        both = "both" if len(letters[shared]) == 2 else "all"
        return [], (f"Pictures {listed(letters[shared])} {both} have rank {shared}. Give each picture its own rank.")
    return [sorted(groups[rank]) for rank in sorted(groups)], ""


def ranks_of(groups: Sequence[Sequence[int]], order: Sequence[int]) -> dict[str, str]:
    """Return the rank of each picture in an order that was given before: the reverse of `read_order`.

    >>> ranks_of([[0, 1], [2], [3, 4]], [4, 3, 2, 1, 0])
    {'A': '4', 'B': '4', 'C': '3', 'D': '1', 'E': '1'}
    """
    rank_of_query: dict[int, int] = {}
    for group in groups:
        rank_of_query |= dict.fromkeys(group, len(rank_of_query) + 1)
    return {letter: str(rank_of_query[query]) for letter, query in zip(LETTERS, order, strict=True)}


def read_seconds(text: str, most: float) -> float:
    """Return how long a page was looked at, seconds: as its script counted, if that can be, else since it was sent.

    >>> read_seconds("12.5", 100.0), read_seconds("", 100.0), read_seconds("900", 100.0), read_seconds("nan", 100.0)
    (12.5, 100.0, 100.0, 100.0)
    """
    try:
        seconds = float(text)
    except ValueError:
        return most
    return seconds if 0 <= seconds <= most else most
