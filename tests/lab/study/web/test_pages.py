"""Pages apart from browsers: limits of time and rate, the administrator's figures, a database that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from tests.lab.study.web import postgres
from tests.lab.study.web.client import Client, Person, ranks
from tests.lab.study.web.servers import Server, known
from wayscore.lab.study.analysis import agree
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.rankings import Ranking
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.store import Store
from wayscore.lab.study.web import dashboard, forms
from wayscore.lab.study.web.security import Limiter, RefusalError, Signer
from wayscore.lab.study.web.site import MEASURED, Site


def test_a_form_that_never_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_SECONDS", 0.01)

    async def nothing() -> Any:
        await asyncio.sleep(60)

    headers = [(b"content-type", forms.FORM_TYPE.encode()), (b"content-length", b"10")]
    request = Request({"type": "http", "method": "POST", "headers": headers}, nothing)
    with pytest.raises(RefusalError, match="too long to arrive"):
        asyncio.run(forms.read_form(request, ("form",)))


def test_limits_fill_up_again() -> None:
    now = [0.0]
    limiter = Limiter(burst=2, rate=0.5, now=lambda: now[0])
    assert [limiter.allows("a") for _ in range(3)] == [True, True, False]
    now[0] = 1.9
    assert not limiter.allows("a")
    now[0] = 2.1
    assert limiter.allows("a", count=False)
    assert limiter.allows("a")
    assert not limiter.allows("a", count=False)
    now[0] = 1000.0
    assert [limiter.allows("a") for _ in range(3)] == [True, True, False]


def test_limits_remember_so_many_and_no_more() -> None:
    limiter = Limiter(burst=1, rate=0, most=3, now=lambda: 0.0)
    assert [limiter.allows(visitor) for visitor in "abcd"] == [True] * 4
    assert [limiter.allows(visitor) for visitor in "dcb"] == [False] * 3
    assert limiter.allows("a")  # was forgotten


def test_signatures_cover_every_word() -> None:
    signer = Signer(b"key")
    signed_words = signer.sign("a", "bc")
    assert signer.is_signed(signed_words, "a", "bc")
    for words in (("ab", "c"), ("a", "bc", ""), ("abc",), ("a", "bd")):
        assert not signer.is_signed(signed_words, *words)
    assert not Signer(b"other").is_signed(signed_words, "a", "bc")
    assert signer.code(1) != signer.code(2)


@pytest.mark.parametrize(
    ("answers", "simulated", "said"),
    [
        (0, False, "We have not measured yet how long this takes; with 30 seconds for each set it is 10 minutes."),
        (MEASURED - 1, False, "We have not measured yet"),
        (MEASURED, False, "This takes about 4 minutes, as measured so far."),  # 12 seconds for each of 20 sets
        (MEASURED, True, "We have not measured yet"),  # programs answer faster than people
    ],
)
def test_minutes_are_measured_or_named_as_an_assumption(
    tmp_path: Path, answers: int, simulated: bool, said: str
) -> None:
    study = create("UC", sets=MEASURED, raters=1, seed=6, worlds=1)
    store = Store(str(tmp_path / "answers.sqlite"), study, simulated=simulated)
    rater = known(store)
    for number, one in enumerate(study.sets[:answers]):
        seconds = 3600.0 if number == 0 else 12.0  # one who left the page open
        store.answer(rater, one.name, [[0], [1], [2], [3], [4]], form=str(number), seconds=seconds)
    site = Site(study, store, secret="a secret", url="http://127.0.0.1")
    assert said in site.consent(1)[0]
    store.close()


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Any, Store, list[Ranking]]]:
    """A study that simulated raters answered in full, and some changed."""
    study = create("UC", sets=6, raters=4, each=2, repeats=1, checks=2, seed=6, worlds=1)
    store = Store(str(tmp_path / "answers.sqlite"), study, simulated=True)
    drawn = simulate(study, seed=2)
    for number, one in enumerate(drawn):
        store.answer(known(store, int(one.rater[-1])), one.set, one.groups, form=str(number), seconds=1)
    yield study, store, drawn
    store.close()


def test_the_administrators_figures(filled: tuple[Any, Store, list[Ranking]]) -> None:
    study, store, drawn = filled
    found = dashboard.watch(study, store, Signer(store.key))
    assert (found["answered"], found["total"]) == (len(drawn), len(drawn))
    facts = {fact.name: fact.value for fact in found["facts"]}
    expected = agree(study, drawn)
    assert expected.w is not None
    assert facts["Kendall's W"] == f"{expected.w:.2f}"
    assert facts["Spearman's rho of two raters"] == f"{expected.spearman:.2f}"
    assert facts["Krippendorff's alpha"] == f"{expected.alpha:.2f}"
    assert facts["Attention checks"].endswith(" of 8")
    assert "Consistency" in facts
    codes = [Signer(store.key).code(row["number"]) for row in found["raters"]]
    assert [row["code"] for row in found["raters"]] == codes
    assert all(row["checks"].endswith("of 2") for row in found["raters"])


def test_many_answers_are_left_to_the_analysis(
    filled: tuple[Any, Store, list[Ranking]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, store, _ = filled
    monkeypatch.setattr(dashboard, "MOST_PAIRS", 3)
    found = dashboard.watch(study, store, Signer(store.key))
    assert found["facts"][0].note == "too many answers for this page; use wayscore study analyze"
    assert "Kendall's W" not in {fact.name for fact in found["facts"]}


@pytest.mark.soak
def test_a_database_that_is_gone(tmp_path: Path) -> None:
    """The page says that nothing was saved, and what it is told afterwards is kept."""
    if not postgres.is_there():
        pytest.skip(postgres.MISSING)
    study = create("UC", sets=2, raters=1, seed=6, worlds=1)
    write_study(tmp_path / "study.json", study)
    with postgres.running() as url:
        server = Server(tmp_path / "study.json", tmp_path, database=url)
        person = Person(server, 1)
        person.agree()
        sent = {**person.form(1), **ranks()}
    with server:
        reply = person.post(f"{person.home}/sets/1", sent)
        assert reply.status == 503
        assert "could not use its database" in reply.text
        assert Client(server).get("/").status == 200
        assert Client(server).sign_in().status == 503
    printed = "".join(server.printed)
    assert "wayscore: the database postgresql+psycopg://wayscore@127.0.0.1:" in printed
    assert server.token(1) not in printed
