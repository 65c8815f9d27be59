"""`wayscore study serve` and `wayscore study export`: the questionnaire as web pages, and its answers."""

from __future__ import annotations

from pathlib import Path

from wayscore.cli import options
from wayscore.cli.options import FILE
from wayscore.cli.output import say
from wayscore.cli.verb import argument, option, verb, whole

study_file = argument("file", type=FILE, metavar="STUDY", help="Study file, written by `wayscore study create`.")
database_option = option(
    "--database",
    default="",
    metavar="FILE|URL",
    show_default=False,
    help="SQLite file, or postgresql://...; <study>.sqlite in the folder of the study by default.",
)


@verb(
    "wayscore study serve uc.json",
    "wayscore study serve uc.json --url https://study.example.org --links links.csv \\\n"
    "    --database postgresql://study@localhost/study",
)
@study_file
@database_option
@option("--port", type=whole(0, 65_535), default=8000, help="Port to listen on; 0 chooses a free one.")
@option("--host", default="127.0.0.1", help="Address to listen on; by default only this machine can reach it.")
@option("--url", default="", show_default=False, help="Public https:// address, if a proxy is in front; used in links.")
@option("--links", type=FILE, metavar="FILE", help="New CSV file for the raters' links; by default they are printed.")
@option(
    "--consent",
    type=FILE,
    metavar="FILE",
    help="Text file with the text that raters agree to; empty lines separate paragraphs.",
)
def serve(file: Path, database: str, port: int, host: str, url: str, links: Path | None, consent: Path | None) -> None:
    """Serve the questionnaire of a study as web pages.

    The raters' links are shown only once, when they are created. An answer is saved before a page says that it is. The
    administrator's page shows the progress of the raters; its secret is printed at the start, or taken from the
    environment variable WAYSCORE_STUDY_SECRET.
    """
    from wayscore.study.serve import serve as serve_study

    serve_study(file, database=database, host=host, port=port, url=url, links=links, consent=consent, say=say)


@verb("wayscore study export uc.json -o answers.jsonl")
@study_file
@database_option
@option("--history", is_flag=True, help="Also write answers that were changed later; such a file cannot be analyzed.")
@options.out("File to write; <study>-answers.jsonl by default.")
def export(file: Path, database: str, history: bool, out: Path | None) -> None:
    """Write the answers to a study as JSON lines, for `wayscore study analyze`; the server may keep running."""
    from wayscore.errors import OptionError
    from wayscore.study.files import read_study
    from wayscore.study.rankings import write_rankings
    from wayscore.study.serve import default_database, need_study

    need_study()
    from wayscore.study.store import Store

    where = database or default_database(file)
    if "://" not in where and not Path(where).is_file():
        raise OptionError(f"there is no database {where}; serve the study first, or give --database")
    store = Store(where, read_study(file), new=False)
    try:
        rankings = store.rankings(history=history)
    finally:
        store.close()
    out = out or beside(file, "-answers.jsonl")
    write_rankings(out, rankings)
    say(f"{out}: {len(rankings):,} answers")


def beside(study: Path, ending: str) -> Path:
    """Return the file beside a study that has its name and another ending.

    >>> beside(Path("a/uc.json.gz"), "-answers.jsonl").as_posix()
    'a/uc-answers.jsonl'
    """
    return study.with_name(f"{study.name.removesuffix('.gz').removesuffix('.json')}{ending}")
