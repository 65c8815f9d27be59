"""What tests read from a database, past the server."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from tests.lab.study.web.servers import Server
from wayscore.lab.study.store import Rater, Store


def rows(server: Server, rater: int, name: str = "") -> list[tuple[str, list[list[int]]]]:
    """The answers of a rater in the order they came, all of them or those to one set."""
    with closing(sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)) as database:
        found = database.execute('SELECT "set", groups FROM answers WHERE rater = ? ORDER BY id', (rater,)).fetchall()
    return [(row[0], json.loads(row[1])) for row in found if name in ("", row[0])]


def known(store: Store, number: int = 1) -> Rater:
    """A rater with a link."""
    rater = store.rater(store.new_links([number])[number])
    assert rater is not None
    return rater


def everything(server: Server) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with closing(sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
