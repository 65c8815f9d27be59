"""Where answers are kept: what is written, what is refused, and that both databases do the same."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.lab.study.web.servers import known
from wayscore.errors import OptionError
from wayscore.lab.study.create import create
from wayscore.lab.study.model import Study
from wayscore.lab.study.server import issue_links
from wayscore.lab.study.store import MOST_VERSIONS, Store
from wayscore.lab.study.web.security import Sessions, Signer

FIRST = [[2], [0, 4], [1], [3]]
SECOND = [[0], [1], [2], [3], [4]]


def test_an_answer_and_its_history(store: Store, small: Study) -> None:
    rater, name = known(store), small.sets[0].name
    assert store.answer(rater, name, FIRST, form="a", seconds=3.25) == "saved"
    assert store.answer(rater, name, SECOND, form="b", seconds=1.0) == "saved"
    assert store.answered(rater) == {name: SECOND}
    (last,) = store.rankings()
    assert (last.rater, last.set, last.groups, last.simulated) == ("1", name, SECOND, False)
    assert last.seconds == 4.2  # both times together
    assert last.at.endswith("+00:00")
    versions = [(one.groups, one.seconds) for one in store.rankings(history=True)]
    assert versions == [(FIRST, 3.2), (SECOND, 1.0)]
    progress = {one.rater: one for one in store.progress()}
    assert (progress[1].answered, progress[1].changes, progress[1].last) == (1, 1, last.at)
    assert (progress[2].answered, progress[2].last) == (0, "")


def test_a_form_counts_once(store: Store, small: Study) -> None:
    rater, other = known(store), known(store, 2)
    first, second = (one.name for one in small.sets[:2])
    assert store.answer(rater, first, FIRST, form="a", seconds=1) == "saved"
    assert store.answer(rater, first, FIRST, form="a", seconds=9) == "again"
    assert store.answer(rater, first, SECOND, form="a", seconds=1) == "used"
    assert store.answer(rater, second, FIRST, form="a", seconds=1) == "used"
    assert store.answer(other, first, FIRST, form="a", seconds=1) == "used"
    assert len(store.rankings(history=True)) == 1


def test_the_same_form_from_many_sides_at_once(store: Store, small: Study) -> None:
    rater, name = known(store), small.sets[0].name
    found: list[str] = []
    together = threading.Barrier(8)

    def send() -> None:
        together.wait()
        found.append(store.answer(rater, name, FIRST, form="a", seconds=1))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["again"] * 7 + ["saved"]
    assert len(store.rankings(history=True)) == 1


def test_an_answer_is_not_changed_for_ever(store: Store, small: Study) -> None:
    rater, name = known(store), small.sets[0].name
    for number in range(MOST_VERSIONS):
        assert store.answer(rater, name, FIRST, form=str(number), seconds=1) == "saved"
    assert store.answer(rater, name, FIRST, form="more", seconds=1) == "full"


def test_links(store: Store, small: Study) -> None:
    assert store.unlinked() == [1, 2, 3]
    first = store.new_links([1, 2])
    assert store.unlinked() == [3]
    rater = store.rater(first[1])
    assert rater is not None
    second = store.new_links([1])
    assert first[1] != second[1]
    assert store.rater(first[1]) is None
    assert store.rater("") is None
    assert store.answer(rater, small.sets[0].name, FIRST, form="a", seconds=1) == "gone"
    assert store.rankings() == []
    with pytest.raises(OptionError, match="no rater 9"):
        store.new_links([3, 9])
    assert store.unlinked() == [3]  # all or none


def test_consent_is_written_once(store: Store) -> None:
    rater = known(store)
    assert not rater.consented
    agreed = []
    for text in ("a text", "another text"):
        store.consent(rater, text)
        with store.read() as connection:
            agreed.append(
                connection.execute(sa.text("SELECT consented_at, consent FROM raters WHERE number = 1")).one()
            )
    assert agreed[0] == agreed[1] != (None, None)
    assert known(store).consented


def test_a_database_remembers(database: str, small: Study) -> None:
    first = Store(database, small)
    token = first.new_links([1])[1]
    rater = first.rater(token)
    assert rater is not None
    first.answer(rater, small.sets[0].name, FIRST, form="a", seconds=1)
    first.close()
    second = Store(database, small)
    assert second.key == first.key
    assert second.rater(token) == rater
    assert second.answered(rater) == {small.sets[0].name: FIRST}
    second.close()
    with pytest.raises(OptionError, match="answers to another study"):
        Store(database, create("UC", sets=3, raters=3, each=3, seed=2, worlds=1, ties=True))
    with pytest.raises(OptionError, match="answers of people"):
        Store(database, small, simulated=True)


def test_simulated_answers_say_so(database: str, small: Study) -> None:
    store = Store(database, small, simulated=True)
    store.answer(known(store), small.sets[0].name, FIRST, form="a", seconds=1)
    assert [(one.rater, one.simulated) for one in store.rankings()] == [("simulated-1", True)]
    store.close()
    later = Store(database, small)  # also when nobody says so again
    assert later.simulated
    later.close()


def test_a_database_that_is_not_there_yet(database: str, small: Study) -> None:
    with pytest.raises(OptionError, match="does not belong to a study yet"):
        Store(database, small, new=False)
    Store(database, small).close()  # nothing was left of the attempt


def test_the_file_is_its_owners_alone(tmp_path: Path, small: Study) -> None:
    Store(str(tmp_path / "deep" / "answers.sqlite"), small).close()
    assert stat.S_IMODE((tmp_path / "deep" / "answers.sqlite").stat().st_mode) == 0o600


def test_databases_that_cannot_be_opened(tmp_path: Path, small: Study) -> None:
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(OptionError, match=r"the database .*text cannot be used: file is not a database; check --"):
        Store(str(tmp_path / "text"), small)
    with pytest.raises(OptionError, match="cannot write"):
        Store(str(tmp_path), small)
    with pytest.raises(OptionError, match="must be SQLite or PostgreSQL, not 'mysql'"):
        Store("mysql://user@host/name", small)
    with pytest.raises(OptionError, match="must be a file or a URL such as"):
        Store("://", small)
    with pytest.raises(OptionError, match="memory"):
        Store("sqlite://", small)


def test_a_password_is_not_shown(small: Study) -> None:
    pytest.importorskip("psycopg", reason="needs wayscore[postgres]")
    with pytest.raises(OptionError) as error:
        Store("postgresql://user:hunter2@127.0.0.1:1/name", small)
    assert "hunter2" not in str(error.value)
    assert "the database postgresql+psycopg://user:***@127.0.0.1:1/name cannot be used" in str(error.value)


# Links: written before they are valid


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


# Sessions of the administrator


def test_a_session_begins_and_ends(store: Store) -> None:
    sessions = Sessions(store, Signer(b"a key"))
    first, second = sessions.begin(60), sessions.begin(60)
    assert first != second
    assert sessions.is_open(first)
    sessions.end(first)
    sessions.end(first)
    assert not sessions.is_open(first)
    assert sessions.is_open(second)
    assert not sessions.is_open("")
    assert not sessions.is_open(second[:-1])
    assert Sessions(store, Signer(b"a key")).is_open(second)
    assert not Sessions(store, Signer(b"another key")).is_open(second)


def test_a_session_ends_with_time_and_is_forgotten(store: Store) -> None:
    clock = [1000.0]
    sessions = Sessions(store, Signer(b"a key"), now=lambda: clock[0])
    session = sessions.begin(60)
    clock[0] = 1059.9
    assert sessions.is_open(session)
    clock[0] = 1060.0
    assert not sessions.is_open(session)
    sessions.begin(60)
    clock[0] = 1000.0
    assert not sessions.is_open(session)
