"""Studies, servers of them, and browsers that look at these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.lab.study.web import postgres
from tests.lab.study.web.servers import Server
from tests.report.browser.conftest import Window, browser, windows
from wayscore.lab.study.create import create
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.store import Store

__all__ = ["browser", "windows"]


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Study, Path]]:
    """Small studies: one without ties, with a repeat and a check; one with ties; one with a rater for every test."""
    folder = tmp_path_factory.mktemp("studies")
    made = {
        "strict": create("UC", sets=8, raters=24, each=6, repeats=1, checks=1, seed=1, worlds=2, name="Strict study"),
        "ties": create("SC", sets=8, raters=12, each=3, seed=2, worlds=2, ties=True, name="Study with ties"),
        "crowd": create("UC", sets=3, raters=250, each=250, seed=4, worlds=1, name="Study"),
    }
    for name, study in made.items():
        write_study(folder / f"{name}.json", study)
    return {name: (study, folder / f"{name}.json") for name, study in made.items()}


@pytest.fixture(scope="session")
def small() -> Study:
    """A study of three sets and three raters, for tests of a store without a server."""
    return create("UC", sets=3, raters=3, each=3, seed=1, worlds=1, ties=True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """A PostgreSQL server."""
    if not postgres.is_there():
        pytest.skip(postgres.MISSING)
    with postgres.running() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of either kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "answers.sqlite")
        return
    url = request.getfixturevalue("cluster")
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()
    yield url


@pytest.fixture
def store(database: str, small: Study) -> Iterator[Store]:
    """An empty store in either database."""
    made = Store(database, small)
    yield made
    made.close()


class Served:
    """A server and its study; tests take raters who did nothing yet."""

    def __init__(self, study: Study, server: Server) -> None:
        self.study = study
        self.server = server
        self._fresh = itertools.chain(one.rater for one in study.assignments)

    def fresh(self) -> int:
        """A rater whom no other test uses."""
        return next(self._fresh)

    def items(self, rater: int) -> list[Any]:
        return next(one.items for one in self.study.assignments if one.rater == rater)


def serving(name: str) -> Any:
    """A fixture: a server of one of the studies, for all tests of a module."""

    @pytest.fixture(scope="module", name=name)
    def serve(studies: dict[str, tuple[Study, Path]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
        study, path = studies[name]
        with Server(path, tmp_path_factory.mktemp(name)) as server:
            yield Served(study, server)
        printed = "".join(server.printed)
        assert "Traceback" not in printed
        assert not any(server.token(rater) in printed for rater in server.links)  # no log tells a link

    return serve


strict, ties, crowd = map(serving, ("strict", "ties", "crowd"))


@pytest.fixture
def window(windows: Callable[..., Any]) -> Callable[..., Any]:
    """Open a page of a server."""
    size = {"viewport": {"width": 1280, "height": 800}}
    return lambda served, **options: windows(Window, served.server.address, **{**size, **options}).page
