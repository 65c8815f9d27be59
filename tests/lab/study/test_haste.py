"""Answers that came faster than a person can look: counted, reported, and left out of a table of their own."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from tests.lab.study.test_analysis import ranked_by
from wayscore.errors import OptionError
from wayscore.lab.study.analysis import Haste, analyze, haste_of
from wayscore.lab.study.correlations import correlate
from wayscore.lab.study.create import create
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.report import document, findings, page
from wayscore.lab.study.table1 import contests


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=10, raters=3, each=3, checks=3, seed=3, worlds=2)


def timed(rankings: list[Ranking], seconds: float) -> list[Ranking]:
    return [msgspec.structs.replace(one, seconds=seconds) for one in rankings]


def test_fast_answers_are_left_out_of_a_third_table(study: Study) -> None:
    good = timed(ranked_by(study, "nDTW", "good"), 20.0)
    hasty = timed(ranked_by(study, "nDTW", "hasty", reverse=True), 4.9)
    found = analyze(study, [*good, *hasty], resamples=100)
    assert found.haste == Haste(least=5.0, timed=26, fast={"hasty": 13})
    assert found.unhurried == contests(correlate(study, good))
    assert found.contests != found.unhurried
    lines = findings(found)
    assert "Too fast (less than 5 s for a set): 13 of 26 answers with a time (rater hasty: 13)." in lines
    (without,) = (line for line in lines if line.startswith("Table 1 without answers that came too fast: "))
    assert f"NE {found.unhurried[1].counts} (p " in without
    assert "13 of 26 answers" in " ".join(str(document([found])).split())
    (plain,) = json.loads(document([found]).render("json"))
    assert plain["haste"] == {"least": 5.0, "timed": 26, "fast": {"hasty": 13}}
    assert plain["unhurried"][1]["p"] == found.unhurried[1].p
    html = re.sub(' style="[^"]*"', "", page([found]))
    assert '<tr><th scope="row">hasty</th><td>10</td><td>0/3</td><td>0</td><td>–</td><td>13</td></tr>' in html


def test_the_threshold_is_per_picture(study: Study) -> None:
    answers = timed(ranked_by(study, "nDTW"), 5.0)
    assert haste_of(answers).fast == {}
    assert haste_of(answers, 1.01).fast == {"1": 13}
    assert analyze(study, answers, resamples=100).unhurried is None
    assert "Too fast (less than 5 s for a set): 0 of 13 answers with a time." in findings(
        analyze(study, answers, resamples=100)
    )
    with pytest.raises(OptionError, match="seconds_per_picture must be a number, 0 or more, got -1"):
        analyze(study, answers, seconds_per_picture=-1)


def test_all_answers_too_fast(study: Study) -> None:
    found = analyze(study, timed(ranked_by(study, "nDTW"), 0.1), resamples=100)
    assert (found.haste.count, found.unhurried) == (13, None)
    assert "Without answers that came too fast, no ranking is left." in findings(found)


def test_what_has_no_time_is_not_fast(study: Study) -> None:
    """Nor are programs, which are as fast as they are."""
    for rankings in (ranked_by(study, "nDTW"), timed(simulate(study, seed=1), 0.1)):
        found = analyze(study, rankings, resamples=100)
        assert found.haste == Haste(least=5.0, timed=0, fast={})
        assert found.unhurried is None
        assert not any("fast" in line for line in findings(found))
        assert re.search("<td[^>]*>–</td></tr>", page([found]))
