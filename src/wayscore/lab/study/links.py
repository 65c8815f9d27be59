"""The raters' links: written completely before they are valid, so that a full disk loses none."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from wayscore.errors import OptionError
from wayscore.lab.study.store import Store, in_a_sentence


def issue_links(
    store: Store, raters: Sequence[int], address: str, path: str | os.PathLike[str] | None, say: Callable[[str], None]
) -> None:
    """Give raters new links; earlier ones end when the new ones are on the disk or printed, and not before.

    Args:
        store: where the hashes of their tokens are stored.
        raters: the numbers of the raters.
        address: the public address of the server.
        path: a new file for the links, which only its owner can read; by default they are printed.
        say: prints a line.
    """
    if not raters:
        return
    file = None if path is None else Path(path)
    written = False

    def deliver(tokens: dict[int, str]) -> None:
        nonlocal written
        links = [(number, f"{address}/r/{token}") for number, token in tokens.items()]
        if file is None:
            for number, link in links:
                say(f"  rater {number}: {link}")
        else:
            write_links(file, links)
            written = True

    try:
        with in_a_sentence(store.where):
            store.new_links(raters, deliver)
    except BaseException:
        if file is not None and written:
            file.unlink(missing_ok=True)  # these links never became valid
        raise
    if file is not None:
        say(f"The links of {len(raters)} raters are in {file}; they cannot be shown again.")


def write_links(path: Path, links: Iterable[tuple[int, str]]) -> None:
    """Write links to a new file that only its owner can read, and wait until it is on the disk."""
    try:
        made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}; choose a new file for <<links>>") from None
    try:
        with open(made, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("rater", "link"))
            writer.writerows(links)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise OptionError(
            f"cannot write {path}: {error.strerror or error}; no link was changed: choose another disk for <<links>>"
        ) from None
