"""What a file is that is not what was expected, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wayscore.formats.beginning import Beginning

if TYPE_CHECKING:
    from wayscore.formats.base import Format, Kind

WANTED = {"references": "references", "run": "a run"}
EXAMPLES = {
    "references": '{"path_id": 4332, "scan": ..., "path": [viewpoint, ...], "instructions": [...]}',
    "run": '{"instr_id": "4332_0", "trajectory": [viewpoint, ...]}',
}
MAGIC: dict[bytes, str] = {
    b"<!doctype html": "a web page (a download that failed or needs a login); download the file itself",
    b"<html": "a web page (a download that failed or needs a login); download the file itself",
    b"<?xml": "XML; write JSON, CSV or Parquet",
    b"version https://git-lfs": "a pointer of Git LFS; fetch the file itself with `git lfs pull`",
    b"pk\x03\x04": "a zip archive or a checkpoint of PyTorch; give a file of JSON, CSV or Parquet, unzipped",
    b"\x93numpy": "an array of NumPy; write one record per episode as JSON, CSV or Parquet",
    b"\x89hdf": "HDF5; write one record per episode as JSON, CSV or Parquet",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it, or compress it by gzip",
}
"""How files begin that hold no records, in small letters; and what they are."""
CONTROL = frozenset({*range(9), *range(14, 27)})
"""Bytes that no text has."""
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
SCORES = "; give the agent's trajectories (`wayscore compare` and ws.load_result take scores)"
TRUTH = "; give the dataset's file of ground-truth paths, such as R2R_val_unseen.json"
_OTHERS: dict[tuple[str, str], Callable[[Beginning], bool]] = {
    (
        "VLN-CE ground truth walks",
        "; give the file of the episodes beside it (without _gt), which finds these walks by itself",
    ): lambda b: "locations" in b.inner,
    ("scores of single episodes, which hold no paths", SCORES): lambda b: (
        not (b.inner | b.listed).isdisjoint(("spl", "success", "nav_error"))
    ),
    ("a table of scores, which holds no paths", SCORES): lambda b: b.has_any("nDTW", "spl", "success_rate", "success"),
    ("a connectivity graph", "; give its folder with <<graphs=FOLDER>>"): lambda b: b.has("image_id", "unobstructed"),
}


def looks_like(beginning: Beginning, known: Mapping[str, Format]) -> tuple[str, Kind | None, str]:
    """Say what a file looks like ("R2R references"), what it can be read as, and what to do with it; or nothing."""
    for form in known.values():
        for kind in form.sniff(beginning):
            what = f"{form.title} references" if kind == "references" else f"a run in the {form.title} format"
            return what, kind, ""
    return next(((what, None, remedy) for (what, remedy), test in _OTHERS.items() if test(beginning)), ("", None, ""))


def refusal(content: bytes, beginning: Beginning, kind: Kind, known: Mapping[str, Format]) -> str:
    """Say why no format reads a file, and what to do."""
    wanted = WANTED[kind]
    if beginning.layout == "empty":
        return f"is empty; expected {wanted}, so write or copy it again"
    if beginning.layout == "text" and (strange := _strange(content)):
        return f"is {strange.replace('; ', f', not {wanted}; ', 1)}"
    likely, other, remedy = looks_like(beginning, known)
    if likely:
        if other == "references":
            remedy = "; give it with <<references=FILE>>, and your agent's result file as the run"
        elif other == "run":
            remedy = "; give it as the run, and the ground-truth paths with <<references=FILE>>"
        elif kind == "references" and remedy == SCORES:
            remedy = TRUTH
        return f"looks like {likely}, not {wanted}{remedy}"
    if beginning.cut:
        return "ends in the middle of its first record; copy or write it again in full"
    name = "<<run_format=NAME>>" if kind == "run" else "format=NAME (on the command line: --reader format=NAME)"
    return (
        f"is {beginning}, which no known format of {'references' if kind == 'references' else 'runs'} begins with; "
        f"expected records such as {EXAMPLES[kind]}; if it is one of {', '.join(known)}, say which with {name}"
    )


def _strange(content: bytes) -> str:
    """Say what a file is that holds no text."""
    head = content[:1024].lstrip()
    if head.startswith(PICKLES):
        return "a pickle of Python; write its records as JSON, CSV or Parquet"
    found = next((what for magic, what in MAGIC.items() if head.lower().startswith(magic)), "")
    binary = not CONTROL.isdisjoint(head)
    return found or ("binary data (a checkpoint?); give a file of JSON, CSV or Parquet" if binary else "")
