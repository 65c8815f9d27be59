"""`wayscore study serve`, `export`, `relink` and `erase`: the questionnaire as web pages, its answers and raters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wayscore.cli import options
from wayscore.cli.app import FILE, argument, option, verb, whole
from wayscore.cli.output import say

if TYPE_CHECKING:
    from wayscore.lab.study.store import Store

database_option = option(
    "--database",
    "SQLite file, or postgresql://...; <study>.sqlite in the folder of the study by default.",
    default="",
    metavar="FILE|URL",
    show_default=False,
)
study_file = argument("file", "Study file, written by `wayscore study create`.", FILE, metavar="STUDY")


@verb(
    "wayscore study serve uc.json",
    "wayscore study serve uc.json --url https://study.example.org --links links.csv \\\n"
    "    --database postgresql://study@localhost/study",
)
@study_file
@database_option
@option("--port", "Port to listen on; 0 chooses a free one.", whole(0, 65_535), 8000)
@option("--host", "Address to listen on; by default only this machine can reach it.", default="127.0.0.1")
@option("--url", "Public https:// address, if a proxy is in front; used in links.", default="", show_default=False)
@option("--links", "New CSV file for the raters' links; by default they are printed.", FILE)
@option("--consent", "Text file with the text that raters agree to; empty lines separate paragraphs.", FILE)
def serve(file: Path, database: str, port: int, host: str, url: str, links: Path | None, consent: Path | None) -> None:
    """Serve the questionnaire of a study as web pages.

    The raters' links are shown only once, when they are created. An answer is saved before a page says that it is. The
    administrator's page shows the progress of the raters; its secret is printed at the start, or taken from the
    environment variable WAYSCORE_STUDY_SECRET.
    """
    from wayscore.lab.study.server import serve as serve_study

    serve_study(file, database=database, host=host, port=port, url=url, links=links, consent=consent, say=say)


@verb("wayscore study export uc.json -o answers.jsonl")
@study_file
@database_option
@option("--history", "Also write answers that were changed later; such a file cannot be analyzed.", bool)
@options.out("File to write; <study>-answers.jsonl by default.")
def export(file: Path, database: str, history: bool, out: Path | None) -> None:
    """Write the answers to a study as JSON lines, for `wayscore study analyze`; the server may keep running."""
    from wayscore.lab.study.rankings import write_rankings

    with _opened(file, database) as store:
        rankings = store.rankings(history=history)
    out = out or beside(file, "-answers.jsonl")
    write_rankings(out, rankings)
    say(f"{out}: {len(rankings):,} answers")


@verb("wayscore study relink uc.json --rater 3 --url https://study.example.org --links new-links.csv")
@study_file
@database_option
@option("--rater", "Rater who needs a new link; can be repeated.", whole(1, 100_000), multiple=True, show_default=False)
@option("--all everyone", "Give all raters new links, without those whose data were erased.", bool)
@option("--url", "Public address of the server; used in links.", default="http://127.0.0.1:8000")
@option("--links", "New CSV file for the links; by default they are printed.", FILE)
def relink(file: Path, database: str, rater: tuple[int, ...], everyone: bool, url: str, links: Path | None) -> None:
    """Give raters new links if theirs were lost; their earlier links end, their answers stay.

    The server may keep running. Earlier links end when the new ones are in the file or printed, and not before.
    """
    from wayscore.errors import OptionError
    from wayscore.lab.study.server import check_url

    if bool(rater) == everyone:
        raise OptionError("give --rater N, once for each rater who needs a new link, or --all")
    check_url(url, "")
    with _opened(file, database) as store:
        from wayscore.lab.study.server import issue_links

        numbers = [one.rater for one in store.progress() if not one.erased] if everyone else sorted(set(rater))
        issue_links(store, numbers, url.rstrip("/"), links, say)


@verb("wayscore study erase uc.json --rater 7 --by privacy-office", "wayscore study erase uc.json")
@study_file
@database_option
@option("--rater", "Rater whose data are erased; without it, all earlier erasures are listed.", whole(1, 100_000))
@option("--by", "Who erases, for the record; no rater's name.", default="", show_default="your account's name")
@option("--yes", "Erase without asking.", bool)
def erase(file: Path, database: str, rater: int | None, by: str, yes: bool) -> None:
    """Erase everything that is stored about a rater: answers, their earlier versions, consent and link.

    A record stays in the database: when, by whom, the number of the rater, and how many answers. The server may keep
    running. Backups, exported answers and your list of names are yours to erase.
    """
    from getpass import getuser

    with _opened(file, database) as store:
        from wayscore.lab.study.store import erase as erase_rater, erasure_records

        if rater is None:
            say("\n".join(erasure_records(store)) or "Nothing was erased.")
            return
        if not yes:
            click.confirm(f"Erase everything of rater {rater} in {store.where}? This cannot be undone", abort=True)
        erased = erase_rater(store, rater, by=by or getuser())
        say(f"Rater {rater}: {erased} answers, the consent and the link are erased; the erasure is recorded.")


@contextmanager
def _opened(file: Path, database: str) -> Iterator[Store]:
    """The store of a study that has been served, closed at the end."""
    from wayscore.errors import OptionError
    from wayscore.lab.study.files import read_study
    from wayscore.lab.study.server import default_database, need_study

    need_study()
    from wayscore.lab.study.database import in_a_sentence
    from wayscore.lab.study.store import Store

    where = database or default_database(file)
    if "://" not in where and not Path(where).is_file():
        raise OptionError(f"there is no database {where}; serve the study first, or give --database")
    with closing(Store(where, read_study(file), new=False)) as store, in_a_sentence(store.where):
        yield store


def beside(study: Path, ending: str) -> Path:
    """Return the file beside a study that has its name and another ending.

    >>> beside(Path("a/uc.json.gz"), "-answers.jsonl").as_posix()
    'a/uc-answers.jsonl'
    """
    return study.with_name(f"{study.name.removesuffix('.gz').removesuffix('.json')}{ending}")
