"""`python -m benchmarks`: the table of ratios on this machine.

Peers that are not installed are named and left out. Set WAYSCORE_DATA to a folder with connectivity.tar.gz and
r2r/R2R_val_unseen.json.gz to use the real graphs and paths; otherwise similar ones are generated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import Setting, run
from wayscore.errors import WayscoreError


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the figures where --json says."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Measure wayscore against its peers: CPU time of one thread, best of five, results compared.",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test of seconds, without bars")
    parser.add_argument("--only", action="append", help="only rows whose work or peer contains this; may be repeated")
    parser.add_argument("--aeon", metavar="PYTHON", help="an interpreter with aeon, for the ratios over length")
    parser.add_argument("--before", metavar="PYTHON", help="an interpreter with wayscore 0.1.0, for the row of compare")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    given = parser.parse_args(words)
    if given.json is not None and not given.json.absolute().parent.is_dir():  # before the minutes of measuring
        parser.error(f"{given.json}: this folder does not exist; create it or name another file")
    try:
        setting = Setting(given.quick, given.aeon, given.before)
        report = run(setting, given.only, _show if sys.stderr.isatty() else None)
    except WayscoreError as error:
        parser.error(str(error))
    if given.json is not None:
        given.json.write_text(report.to_json(), encoding="utf-8")
    print(report.to_text(shutil.get_terminal_size((120, 0)).columns), end="")
    if report.missed:
        print(f"Below their bar, or with different results: {len(report.missed)} of {len(report.rows)} rows.")


def _show(measured: int, total: int, row: str) -> None:
    print(f"{measured}/{total} {row}", file=sys.stderr)


if __name__ == "__main__":
    main()
