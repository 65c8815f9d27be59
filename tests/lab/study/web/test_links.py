"""Links of raters: written before they are valid, and issued again when they were lost."""

from __future__ import annotations

import csv
import errno
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.house import command
from tests.lab.study.web.client import Person
from tests.lab.study.web.servers import Server, known
from wayscore.errors import OptionError
from wayscore.lab.study.model import Study
from wayscore.lab.study.server import issue_links
from wayscore.lab.study.store import Store, erase


def read(path: Path) -> dict[int, str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {int(row["rater"]): row["link"].rpartition("/")[2] for row in csv.DictReader(file)}


def test_a_full_disk_changes_no_link(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rater = known(store)
    before = store.unlinked()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OptionError, match=r"links\.csv: No space left on device; no link was changed"):
        issue_links(store, [1, 2, 3], "http://x", tmp_path / "links.csv", print)
    assert not (tmp_path / "links.csv").exists()
    assert store.unlinked() == before == [2, 3]
    with store.read() as connection:
        assert connection.scalar(sa.text("SELECT token FROM raters WHERE number = 1")) == rater.token


def test_a_database_that_fails_leaves_no_file(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links in a file that never became valid would be sent to raters."""
    commit = sa.engine.default.DefaultDialect.do_commit

    def fail(*_: Any) -> None:
        raise sa.exc.OperationalError("COMMIT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as failing:
        failing.setattr(sa.engine.default.DefaultDialect, "do_commit", fail)
        with pytest.raises(OptionError, match="cannot be used: database or disk is full; check --database"):
            issue_links(store, [1, 2, 3], "http://x", tmp_path / "links.csv", print)
    assert sa.engine.default.DefaultDialect.do_commit is commit
    assert list(tmp_path.glob("links*")) == []
    assert store.unlinked() == [1, 2, 3]


def test_a_file_is_never_overwritten(store: Store, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("mine")
    with pytest.raises(OptionError, match="choose a new file for"):
        issue_links(store, [1], "http://x", tmp_path / "links.csv", print)
    assert (tmp_path / "links.csv").read_text() == "mine"
    assert store.unlinked() == [1, 2, 3]


def test_what_cannot_be_printed_changes_no_link(store: Store) -> None:
    def broken(_: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        issue_links(store, [1], "http://x", None, broken)
    assert store.unlinked() == [1, 2, 3]


def run(*words: str | Path, status: int = 0) -> str:
    return command("study", *words, status=status).output


def test_relink_while_the_server_runs(studies: dict[str, tuple[Study, Path]], tmp_path: Path) -> None:
    study, file = studies["strict"]
    server = Server(file, tmp_path)
    call = ("relink", file, "--database", server.database, "--url", server.address)
    try:
        first, second = Person(server, 1), Person(server, 2)
        first.agree()
        assert first.answer(1).status == 303
        said = run(*call, "--rater", "1", "--links", tmp_path / "new.csv")
        assert said == f"The links of 1 raters are in {tmp_path / 'new.csv'}; they cannot be shown again.\n"
        assert first.get(first.home).status == 404  # the old link ends
        first.home = f"/r/{read(tmp_path / 'new.csv')[1]}"
        assert first.get(first.home).headers["location"] == f"{first.home}/sets/2"  # the answers stay
        assert second.get(second.home).status == 303
        with closing(Store(server.database, study)) as store:
            erase(store, 3, by="x")
        run(*call, "--all", "--links", tmp_path / "all.csv")
        assert sorted(read(tmp_path / "all.csv")) == [number for number in range(1, 25) if number != 3]
        assert second.get(second.home).status == 404
        second.home = f"/r/{read(tmp_path / 'all.csv')[2]}"
        assert second.get(second.home).status == 303
        assert f"  rater 4: {server.address}/r/" in run(*call, "--rater", "4")
    finally:
        server.stop()
    assert "give --rater N" in run(*call, status=2)
    assert "give --rater N" in run(*call, "--rater", "1", "--all", status=2)
    assert "no rater 99" in run(*call, "--rater", "99", status=2)
