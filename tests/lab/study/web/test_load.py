"""Many raters at once, and a server that dies amid their answers.

Set WAYSCORE_FULL_LOAD=1 for 200 raters and 50 sets; python -m tests.lab.study.web.load prints the times too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.lab.study.web.load import make_study, put_under_load
from wayscore.lab.study.analysis import analyze
from wayscore.lab.study.create import create
from wayscore.lab.study.rater_models import simulate

pytestmark = pytest.mark.soak
RATERS, SETS, KILLS = (200, 50, 10) if os.environ.get("WAYSCORE_FULL_LOAD") else (20, 10, 2)


@pytest.mark.parametrize("kills", [0, KILLS])
def test_what_was_said_to_be_saved_is_there(database: str, tmp_path: Path, kills: int) -> None:
    found, _ = put_under_load(make_study(RATERS, SETS), tmp_path, database=database, kills=kills)
    assert found.expected == RATERS * SETS
    assert (len(found.saved), found.lost, found.changed, found.doubled) == (found.expected, 0, 0, 0)
    assert (found.again > 0) == (kills > 0)
    assert len(set(found.codes.values())) == RATERS


def test_answers_over_the_web_give_the_same_analysis(tmp_path: Path) -> None:
    """From the design over the pages and forms to Table 1: as if the answers had not been sent over HTTP."""
    study = create("UC", sets=6, raters=3, each=2, repeats=1, checks=1, seed=3, worlds=2, name="Small")
    _, sent = put_under_load(study, tmp_path, seed=7)
    assert all(one.simulated and one.at for one in sent)
    results = [json.dumps(analyze(study, found, resamples=200).to_dict()) for found in (simulate(study, seed=7), sent)]
    assert results[0] == results[1]
