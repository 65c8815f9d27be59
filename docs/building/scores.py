"""The directive `scores`: the run of the examples by every convention that is meant for its format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from docs.building.tables import symbol_of, table
from wayscore.convention import PAPER, Convention
from wayscore.convention.presets import CONVENTIONS
from wayscore.metrics import METRICS, find_metrics
from wayscore.report.layout import number

RUNS: dict[str, tuple[str, str, str | None, float, tuple[str, ...]]] = {
    # run, references, graphs, the paper's threshold, conventions that apply
    "nodes": (
        "results.json",
        "R2R_val_unseen.json",
        "connectivity",
        3.0,
        ("paper", "r4r", "r4r-hops", "r2r", "envdrop", "duet", "valan"),
    ),
    "back": ("back_results.jsonl", "back.jsonl", "connectivity", 3.0, ("paper", "r2r-back-hamt")),
    "dialogs": (
        "ndh_results.json",
        "NDH_val_unseen.json",
        "connectivity",
        3.0,
        ("paper", "cvdn", "cvdn-hamt", "cvdn-navillm"),
    ),
    "objects": (
        "reverie_results.json",
        "REVERIE_val_unseen.json",
        "connectivity",
        3.0,
        ("paper", "reverie", "reverie-duet", "reverie-scalevln"),
    ),
    "soon": ("soon_results.jsonl", "soon.jsonl", "connectivity", 3.0, ("paper", "soon-duet")),
    "rooms": (
        "measured.json",
        "val_unseen.json.gz",
        None,
        3.0,
        (
            "paper",
            "vlnce",
            "vlnce-exact",
            "law-vlnce",
            "ha-vln",
            "etpnav",
            "cwp",
            "cwp-waypoints",
            "navid",
            "streamvln",
            "internnav-h",
            "habitat-pointnav",
            "habitat-objectnav",
        ),
    ),
    "tours": ("toured.jsonl", "tours.jsonl", None, 3.0, ("paper", "ivlnce-tours")),
    "plane": ("walked.jsonl", "rooms.jsonl", None, 3.0, ("paper", "internnav-pe", "navdp")),
    "streets": (
        "touchdown_results.json",
        "touchdown_test.json",
        "streets",
        2.0,
        ("paper", "touchdown-vlnt", "touchdown-valan"),
    ),
    "flights": (
        "flown.jsonl",
        "flights.jsonl",
        None,
        20.0,
        ("paper", "aerialvln", "openfly", "citynav", "citynav-vlnce", "citynavagent", "traveluav"),
    ),
    "indoor": ("indoor_flown.jsonl", "indoor.jsonl", None, 2.0, ("paper", "indooruav-vla", "indooruav-vln")),
    "drone": ("drone_flown.jsonl", "drone.jsonl", None, 200.0, ("paper", "uav-flow")),
}
"""The run of the examples in several formats, and the conventions that are meant for each."""
READERS = {"objects": {"objects": "BBoxes.json"}}
Means = dict[str, dict[str, "float | None"]]
"""By convention and metric."""
COLUMNS = ("PL", "NE", "ONE", "SR", "OSR", "SPL", "SED", "CLS", "nDTW", "SDTW")


def scores(folder: Path, kind: str) -> str:
    """Score the run of the examples, in one of its formats, by every convention that is meant for it."""
    means = scored(folder, kind)
    paper = means["paper"]
    rows = []
    for name, found in means.items():
        convention = CONVENTIONS[name]
        printed = [symbol_of(key) for key in convention.metrics] or list(METRICS)
        cells = [_cell(symbol, found, paper, printed, convention) for symbol in COLUMNS]
        further = {symbol_of(key) for key in convention.metrics if ":" in key or key not in METRICS} - {*COLUMNS}
        others = ", ".join(
            f"{symbol}&nbsp;{_number(symbol, found, convention)}"
            for symbol in printed
            if symbol in further and found[symbol] is not None
        )
        rows.append((f"`{name}`", *cells, others))
    head = ("convention", *COLUMNS, "also prints")
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return table(head, rows, right=COLUMNS)


@cache
def scored(folder: Path, kind: str) -> Means:
    """Return means by convention, of all metrics that the table shows or the evaluator prints."""
    import wayscore as ws

    run, file, graphs, threshold, names = RUNS[kind]
    references = ws.load_references(folder / file, **{k: folder / v for k, v in READERS.get(kind, {}).items()})
    where = None if graphs is None else folder / graphs
    found = {}
    for name in names:
        wanted = list(dict.fromkeys((*COLUMNS, *CONVENTIONS[name].metrics)))
        of_paper = threshold if name == "paper" else None
        result = ws.evaluate(folder / run, references, where, convention=name, metrics=wanted, threshold=of_paper)
        found[name] = result.means()
    return found


def _cell(
    symbol: str,
    found: dict[str, float | None],
    paper: dict[str, float | None],
    printed: Sequence[str],
    convention: Convention,
) -> str:
    shown, usual = _number(symbol, found, convention), _number(symbol, paper, PAPER)
    text = shown if shown == usual else f"**{shown}**"
    return text if symbol in printed else f'<span class="unprinted">{text}</span>'


def _number(symbol: str, found: dict[str, float | None], convention: Convention) -> str:
    return number(find_metrics([symbol], convention)[0], found[symbol])
