"""`wayscore study serve` and `wayscore study export`: the questionnaire as web pages, and the answers to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DatabaseOption = Annotated[
    str,
    typer.Option(help="A file for SQLite, or postgresql://...; <study>.sqlite beside the study by default."),
]


def serve(
    file: Annotated[Path, typer.Argument(help="A study's file.", show_default=False)],
    database: DatabaseOption = "",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 for any that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen at; by default only this machine reaches it.")] = (
        "127.0.0.1"
    ),
    url: Annotated[str, typer.Option(help="The https:// address of a proxy before the server, for links.")] = "",
    links: Annotated[Path | None, typer.Option(help="A new CSV file for raters' links; else they are printed.")] = None,
    consent: Annotated[Path | None, typer.Option(help="A text file with what raters agree to.")] = None,
) -> None:
    """Serve a study's questionnaire; raters' links are shown once, when they are made.

    Answers are kept from the moment that a page says so. The administrator's page tells how far raters have come; its
    secret is printed at the start, or is that of WAYSCORE_STUDY_SECRET.

    Example: wayscore study serve uc.json

    Example for the world: wayscore study serve uc.json --url https://study.example.org --links links.csv --database
    postgresql://study@localhost/study

    Args:
        file: the study.
        database: where answers are kept.
        port: the port to listen at.
        host: the address to listen at.
        url: the address that raters reach the server by.
        links: a file for raters' links.
        consent: what raters agree to, in paragraphs that empty lines part.
    """
    from wayscore.study.serve import serve as serve_study

    serve_study(file, database=database, host=host, port=port, url=url, links=links, consent=consent, say=typer.echo)


def export(
    file: Annotated[Path, typer.Argument(help="A study's file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; <study>-answers.jsonl by default.")
    ] = None,
    database: DatabaseOption = "",
    history: Annotated[
        bool, typer.Option("--history", help="Also answers that were changed later; not for analysis.")
    ] = False,
) -> None:
    """Write the answers to a study as JSON Lines, which wayscore study analyze reads; the server may be running.

    Args:
        file: the study.
        out: the file to write.
        database: where answers are kept.
        history: write all answers in the order they came, not only the last to each set.
    """
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
    out = out or file.with_name(f"{file.name.removesuffix('.gz').removesuffix('.json')}-answers.jsonl")
    write_rankings(out, rankings)
    typer.echo(f"{out}: {len(rankings):,} answers")
