"""Many raters at once, and a server that dies amid their answers.

Set WAYSCORE_FULL_LOAD=1 for 200 raters and 50 sets; python -m tests.lab.study.web.load prints the times too.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.study.web.load import make_study, put_under_load
from wayscore.lab.study.model import Study

pytestmark = pytest.mark.soak
RATERS, SETS, KILLS = (200, 50, 10) if os.environ.get("WAYSCORE_FULL_LOAD") else (20, 10, 2)


@pytest.fixture(scope="module")
def study() -> Study:
    return make_study(RATERS, SETS)


def test_all_at_once(study: Study, database: str, tmp_path: Path) -> None:
    found = put_under_load(study, tmp_path, database=database)
    assert found.expected == RATERS * SETS
    assert (found.saved, found.lost, found.changed, found.doubled) == (found.expected, 0, 0, 0)
    assert found.again == 0
    assert len(set(found.tally.codes.values())) == RATERS


def test_what_was_said_to_be_saved_outlives_the_server(study: Study, database: str, tmp_path: Path) -> None:
    found = put_under_load(study, tmp_path, database=database, kills=KILLS)
    assert found.again > 0
    assert (found.saved, found.lost, found.changed, found.doubled) == (found.expected, 0, 0, 0)
