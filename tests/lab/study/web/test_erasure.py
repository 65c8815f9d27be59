"""Erasing a rater's data: everything goes, a true record stays, and nothing else can be deleted."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.house import command
from tests.lab.study.web.client import Person
from tests.lab.study.web.servers import Server, everything, known
from wayscore.errors import OptionError
from wayscore.lab.study.create import create
from wayscore.lab.study.database import RECORD, REFUSE
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.store import Store, erase, erasure_records

FIRST = [[2], [0, 4], [1], [3]]
SECOND = [[0], [1], [2], [3], [4]]
INSERT = "INSERT INTO erasures (rater, erased_at, erased_by, answers, last_answer) VALUES "


@pytest.fixture
def answered(store: Store, small: Study) -> Store:
    """A store in which two raters agreed and answered; the first one changed an answer."""
    for number in (1, 2):
        rater = known(store, number)
        store.consent(rater, "a text")
        for one in small.sets:
            assert store.answer(rater, one.name, FIRST, form=f"{number} {one.name}", seconds=8) == "saved"
    store.answer(known(store, 1), small.sets[0].name, SECOND, form="changed", seconds=8)
    return store


def table(store: Store, name: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(sa.text(f"SELECT * FROM {name}"))]


def test_everything_goes_and_a_record_stays(answered: Store) -> None:
    others = [row for row in table(answered, "answers") if row[1] != 1]
    assert erase(answered, 1, by="the office") == 4
    assert table(answered, "answers") == others
    assert next(row for row in table(answered, "raters") if row[0] == 1) == (1, None, None, None)
    ((number, rater, at, by, count, last),) = table(answered, "erasures")
    assert (number, rater, by, count, last) == (1, 1, "the office", 4, 7)
    assert at.endswith("+00:00")
    assert erasure_records(answered) == [f"{at}: rater 1, 4 answers, erased by the office"]


def test_a_link_that_was_erased_is_void(answered: Store, small: Study) -> None:
    rater = known(answered, 1)
    erase(answered, 1, by="x")
    assert answered.answer(rater, small.sets[0].name, FIRST, form="late", seconds=8) == "gone"
    assert answered.unlinked() == [3]  # nobody gets the number without being asked
    assert [(one.rater, one.erased) for one in answered.progress()] == [(1, True), (2, False), (3, False)]


def test_a_number_can_be_given_to_someone_else(answered: Store, small: Study) -> None:
    erase(answered, 1, by="x")
    other = known(answered, 1)
    assert not other.consented
    assert answered.answer(other, small.sets[0].name, FIRST, form="new", seconds=8) == "saved"
    refuse(answered, "DELETE FROM answers WHERE rater = 1", REFUSE)  # the record is about what was there before
    assert erase(answered, 1, by="x") == 1
    assert [row[4] for row in table(answered, "erasures")] == [4, 1]


def refuse(store: Store, statement: str, why: str) -> None:
    before = {name: table(store, name) for name in ("answers", "raters", "erasures")}
    with pytest.raises(sa.exc.DBAPIError, match=why), store.write() as connection:
        connection.execute(sa.text(statement))
    assert {name: table(store, name) for name in before} == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM answers",
        "DELETE FROM answers WHERE rater = 2",
        "DELETE FROM answers WHERE rater = 2 AND id = 4",
        "UPDATE answers SET rater = 1",
        "UPDATE answers SET groups = '[]' WHERE rater = 2",
    ],
)
def test_answers_of_others_stay(answered: Store, statement: str) -> None:
    erase(answered, 1, by="x")
    refuse(answered, statement, REFUSE)


def test_answers_can_neither_be_replaced_nor_truncated(answered: Store) -> None:
    """SQLite deletes the rows that REPLACE collides with, and asks no trigger on DELETE."""
    with answered.read() as connection:
        dialect = connection.dialect.name
    if dialect == "postgresql":
        refuse(answered, "TRUNCATE answers", REFUSE)
        refuse(answered, "TRUNCATE erasures", RECORD)
        return
    columns = 'INSERT OR REPLACE INTO answers (id, rater, "set", groups, seconds, at, form) VALUES '
    refuse(answered, f"{columns} (1, 2, 'a', '[]', 1, '', 'another')", REFUSE)
    refuse(answered, f"{columns} (99, 2, 'a', '[]', 1, '', 'changed')", REFUSE)
    refuse(answered, INSERT.replace("INSERT", "INSERT OR REPLACE") + "(2, '', '', 1, 6)", RECORD)


@pytest.mark.parametrize("values", ["(2, '', '', 2, 6)", "(2, '', '', 3, 5)", "(2, '', '', 3, 7)", "(2, '', '', 0, 0)"])
def test_records_must_be_true(answered: Store, values: str) -> None:
    refuse(answered, INSERT + values, RECORD)
    with answered.write() as connection:
        connection.execute(sa.text(INSERT + "(2, '', '', 3, 6)"))  # the control: rows 4 to 6
    assert [row[1] for row in table(answered, "answers")] == [1, 1, 1, 1]


@pytest.mark.parametrize("statement", ["DELETE FROM erasures", "UPDATE erasures SET answers = 0"])
def test_records_stay(answered: Store, statement: str) -> None:
    erase(answered, 1, by="x")
    refuse(answered, statement, RECORD)


def test_a_record_that_is_taken_back_erases_nothing(answered: Store) -> None:
    before = table(answered, "answers")
    with contextlib.suppress(KeyError), answered.write() as connection:
        connection.execute(sa.text(INSERT + "(2, '', '', 3, 6)"))
        assert connection.scalar(sa.text("SELECT count(*) FROM answers")) == 4
        raise KeyError
    assert (table(answered, "answers"), table(answered, "erasures")) == (before, [])


def test_answers_that_arrive_meanwhile(answered: Store, small: Study) -> None:
    """Whatever the order, no answer is left of a rater whose data were erased."""
    for turn in range(10):
        rater = known(answered, 3)
        together = threading.Barrier(2)

        def send(rater: Any = rater, turn: int = turn, together: threading.Barrier = together) -> None:
            together.wait()
            answered.answer(rater, small.sets[0].name, FIRST, form=f"turn {turn}", seconds=8)

        thread = threading.Thread(target=send)
        thread.start()
        together.wait()
        erase(answered, 3, by="x")
        thread.join()
        assert not any(row[1] == 3 for row in table(answered, "answers"))


def test_databases_of_earlier_versions_learn_to_erase(answered: Store, database: str, small: Study) -> None:
    """Their triggers refuse every deletion, and they have no table of erasures."""
    with answered.write() as connection:
        connection.execute(sa.text("DROP TABLE erasures"))
        if connection.dialect.name == "sqlite":
            connection.execute(sa.text("DROP TRIGGER answers_no_delete"))
            old = "CREATE TRIGGER answers_no_DELETE BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'old'); END"
            connection.execute(sa.text(old))
        else:
            connection.execute(sa.text("DROP TRIGGER answers_no_change ON answers"))
            connection.execute(sa.text("DROP TRIGGER answers_no_delete ON answers"))
            old = (
                "BEFORE UPDATE OR DELETE OR TRUNCATE ON answers FOR EACH STATEMENT EXECUTE FUNCTION answers_no_change()"
            )
            connection.execute(sa.text(f"CREATE TRIGGER answers_no_change {old}"))
    with closing(Store(database, small)) as again:
        assert erase(again, 1, by="x") == 4
        refuse(again, "DELETE FROM answers", REFUSE)


def test_nothing_is_left_in_the_files(tmp_path: Path, small: Study) -> None:
    store = Store(str(tmp_path / "answers.sqlite"), small)
    rater = known(store)
    store.consent(rater, "a text")
    for one in small.sets:
        store.answer(rater, one.name, FIRST, form=f"only theirs {one.name}", seconds=8)

    def written() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.glob("answers.sqlite*"))

    assert b"only theirs" in written()
    assert rater.token.encode() in written()
    erase(store, 1, by="x")
    assert b"only theirs" not in written()
    assert rater.token.encode() not in written()
    store.close()


def test_mistakes(answered: Store) -> None:
    with pytest.raises(OptionError, match="the study has no rater 9"):
        erase(answered, 9, by="x")
    with pytest.raises(OptionError, match="by must be a name of 1 to 100 characters, not 0"):
        erase(answered, 1, by="")
    assert table(answered, "erasures") == []


def run(*words: str | Path, say: str | None = None, status: int = 0) -> str:
    return command("study", *words, say=say, status=status).output


def test_from_the_command_line_while_the_server_runs(tmp_path: Path) -> None:
    """From the answers of people over an erasure to an analysis without them."""
    study = create("UC", sets=4, raters=3, each=3, checks=1, seed=3, worlds=1)
    file = tmp_path / "study.json"
    write_study(file, study)
    with Server(file, tmp_path) as server:
        database = ("--database", server.database)
        people = [Person(server, number) for number in (1, 2, 3)]
        for person in people:
            person.agree()
            for number in range(1, 6):
                assert person.answer(number, "12345").status == 303
        assert run("erase", file, *database) == "Nothing was erased.\n"
        assert "This cannot be undone" in run("erase", file, *database, "--rater", "2", say="n\n", status=130)
        assert len(everything(server)["answers"]) == 15
        said = run("erase", file, *database, "--rater", "2", "--by", "office", "--yes")
        assert said == "Rater 2: 5 answers, the consent and the link are erased; the erasure is recorded.\n"
        assert run("erase", file, *database).endswith("rater 2, 5 answers, erased by office\n")
        assert people[1].get(people[1].home).status == 404
        assert people[0].get(people[0].home).status == 303
    assert "no rater 9" in run("erase", file, *database, "--rater", "9", "--yes", status=2)
    out = tmp_path / "answers.jsonl"
    run("export", file, *database, "-o", out)
    assert {json.loads(line)["rater"] for line in out.read_text().splitlines()} == {"1", "3"}
    (found,) = json.loads(run("analyze", file, out, "--format", "json", "--resamples", "200"))
    assert (found["raters"], found["rankings"]) == (2, 8)
    with closing(sqlite3.connect(server.database)) as connection:
        assert connection.execute("SELECT count(*) FROM answers WHERE rater = 2").fetchone() == (0,)
