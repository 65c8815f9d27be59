"""Triggers that keep a study's answers: the database itself refuses to change or delete them, whoever asks.

There is one exception. A row in `erasures` erases everything of one rater: the database deletes it while it inserts the
row, which says when, by whom and how many answers; such a row can neither be changed nor deleted. So answers disappear
only together with a record of it, in one transaction.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

REFUSE = "answers are only ever added"
RECORD = "an erasure must record exactly the answers that it erases, and is never changed"
_RECORDED = "SELECT 1 FROM erasures WHERE rater = OLD.rater AND last_answer >= OLD.id"
_WRONG = (
    "NEW.answers <> (SELECT count(*) FROM answers WHERE rater = NEW.rater) OR "
    "NEW.last_answer <> (SELECT coalesce(max(id), 0) FROM answers WHERE rater = NEW.rater)"
)
_ERASE = (
    "DELETE FROM answers WHERE rater = NEW.rater; "
    "UPDATE raters SET token = NULL, consented_at = NULL, consent = NULL WHERE number = NEW.rater;"
)


def _sqlite(name: str, when: str, condition: str, what: str) -> list[str]:
    return [f"DROP TRIGGER IF EXISTS {name}", f"CREATE TRIGGER {name} {when} WHEN {condition} BEGIN {what} END"]


def _abort(sentence: str) -> str:
    return f"SELECT RAISE(ABORT, '{sentence}');"


def _postgresql(name: str, when: str, what: str) -> list[str]:
    table = when.split(" ON ")[1].split()[0]
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what} END $$",
        f"DROP TRIGGER IF EXISTS {name} ON {table}",
        f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()",
    ]


def _raise(sentence: str) -> str:
    return f"RAISE EXCEPTION '{sentence}';"


GUARDS: dict[str, list[str]] = {
    "sqlite": [
        *_sqlite("answers_no_update", "BEFORE UPDATE ON answers", "1", _abort(REFUSE)),
        *_sqlite("answers_no_delete", "BEFORE DELETE ON answers", f"NOT EXISTS ({_RECORDED})", _abort(REFUSE)),
        *_sqlite(  # REPLACE would delete without asking the trigger above
            "answers_no_replace",
            "BEFORE INSERT ON answers",
            "EXISTS (SELECT 1 FROM answers WHERE id = NEW.id OR form = NEW.form)",
            _abort(REFUSE),
        ),
        *_sqlite("erasures_no_update", "BEFORE UPDATE ON erasures", "1", _abort(RECORD)),
        *_sqlite("erasures_no_delete", "BEFORE DELETE ON erasures", "1", _abort(RECORD)),
        *_sqlite(
            "erasures_are_true",
            "BEFORE INSERT ON erasures",
            f"{_WRONG} OR EXISTS (SELECT 1 FROM erasures WHERE id = NEW.id)",
            _abort(RECORD),
        ),
        *_sqlite("erasures_erase", "AFTER INSERT ON erasures", "1", _ERASE),
    ],
    "postgresql": [
        *_postgresql(
            "answers_no_change", "BEFORE UPDATE OR TRUNCATE ON answers FOR EACH STATEMENT", f"{_raise(REFUSE)}"
        ),
        *_postgresql(
            "answers_no_delete",
            "BEFORE DELETE ON answers FOR EACH ROW",
            f"IF NOT EXISTS ({_RECORDED}) THEN {_raise(REFUSE)} END IF; RETURN OLD;",
        ),
        *_postgresql(
            "erasures_no_change", "BEFORE UPDATE OR DELETE OR TRUNCATE ON erasures FOR EACH STATEMENT", _raise(RECORD)
        ),
        *_postgresql(
            "erasures_are_true",
            "BEFORE INSERT ON erasures FOR EACH ROW",
            f"IF {_WRONG} THEN {_raise(RECORD)} END IF; RETURN NEW;",
        ),
        *_postgresql("erasures_erase", "AFTER INSERT ON erasures FOR EACH ROW", f"{_ERASE} RETURN NULL;"),
    ],
}


def set_guards(_: Any, connection: sa.Connection, *, tables: list[sa.Table], **__: Any) -> None:
    """Create the triggers, or replace those of an earlier version, if tables were created just now."""
    for statement in GUARDS[connection.dialect.name] if tables else ():
        connection.exec_driver_sql(statement)
