"""What is fuzzed: every reader, given bytes. It returns, or raises a `WayscoreError`; anything else is a crash."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wayscore as ws
from tests.formats.test_readers import LINES, REFERENCES, RUNS, TABLE, encode
from tests.fortress.attacks import tar_of
from tests.house import connectivity
from tests.navmeshes import l_shape, two_tiles
from wayscore.convention.presets import find_convention
from wayscore.escaping import escape, escape_json, from_cell
from wayscore.formats.base import read
from wayscore.formats.convert import convert
from wayscore.formats.graphs import load_street_graph
from wayscore.lab.study.create import create
from wayscore.lab.study.files import read_study, study_bytes
from wayscore.lab.study.rankings import read_rankings

FOLDER = Path(tempfile.mkdtemp(prefix="wayscore-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once crashed a reader, one folder per target."""


class Target(NamedTuple):
    """One reader: what it does with bytes, and what it reads without complaint."""

    read: Callable[[bytes], Any]
    seeds: Callable[[], Sequence[bytes]]


def _file(name: str, content: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(content)
    return path


def _run(content: bytes, name: str = "run.json") -> None:
    repr(ws.load_run(_file(name, content)))


@cache
def _known() -> tuple[Any, Any]:
    path = _file("known.json", encode([{"path_id": 7, "scan": "s", "heading": 0.0, "path": ["a", "b"], "distance": 1.0,
                                        "instructions": ["go"]}], lines=False))  # fmt: skip
    return ws.load_references(path), {"s": ws.Graph.from_edges([("a", "b"), ("b", "c")])}


def _validate(content: bytes) -> None:
    references, graphs = _known()
    list(ws.validate(_file("checked.json", content), references, graphs).lines())


def _evaluate(content: bytes) -> None:
    references, graphs = _known()
    options = dict.fromkeys(("missing", "unknown", "node", "start"), "skip") | {"duplicate": "keep"}
    result = ws.evaluate(_file("scored.json", content), references, graphs, resamples=10, **options)
    for form in (result.to_json, result.to_markdown, result.to_latex, result._repr_html_):
        form()


def _convert(content: bytes) -> None:
    target = FOLDER / "converted.parquet"
    if convert(os.fspath(_file("to-convert.json", content)), os.fspath(target)).kind == "run":
        ws.load_run(target)


def _saved(content: bytes) -> None:
    result = ws.load_result(_file("saved.parquet", content))
    repr(result.means())
    result.to_markdown()


def _graph(content: bytes) -> None:
    graph = ws.Graph.from_matterport(_file("s_connectivity.json", content))
    if len(graph) < 50:
        graph.table  # noqa: B018 - computed when it is first used


def _member(content: bytes) -> None:
    path = _file("runs.tar", content)
    with suppress(ws.FormatError):
        read(path)
    read(path, member="a.json")


def _street(content: bytes) -> None:
    nodes, _, links = content.partition(b"\n\n")
    load_street_graph(_file("nodes.txt", nodes), _file("links.txt", links))


def _text(content: bytes) -> None:
    """Check that shown strings can be shown."""
    text = content.decode(errors="surrogateescape")
    for form in ("line", "html", "markdown", "latex", "figure"):
        for char in escape(text, form):
            assert char.isprintable() or char in "\u200c\u200d" or (char.isspace() and ord(char) > 0x9F), (form, char)
    cell = escape(text, "csv")
    assert from_cell(cell) == text or text[:1] == "'"
    json.loads(escape_json(json.dumps(text)))


def _json_seeds(records: Mapping[str, Any]) -> Callable[[], list[bytes]]:
    return lambda: [encode(content, name in LINES) for name, content in records.items()]


def _tars() -> list[bytes]:
    scan = json.dumps(connectivity("ab", "ab")).encode()
    found = [
        tar_of([("s_connectivity.json", scan), ("a.json", b"[]")]),
        tar_of([("t_connectivity.json.gz", gzip.compress(scan))]),
    ]
    return [*found, gzip.compress(found[0]), bz2.compress(found[0]), lzma.compress(found[0])]


def _parquet(records: Any) -> bytes:
    target = FOLDER / "seed.parquet"
    convert(os.fspath(_file("seed.jsonl", encode(records, lines=True))), os.fspath(target))
    return target.read_bytes()


def _result() -> Any:
    references, graphs = _known()
    return ws.evaluate(_file("scored.json", encode(RUNS["r2r"], lines=False)), references, graphs, resamples=10)


def _saved_seeds() -> list[bytes]:
    target = FOLDER / "saved-seed.parquet"
    _result().save(target)
    return [target.read_bytes()]


def _in(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    """Return a reader of bytes: they are written to a file of this name, which `read` reads."""
    return lambda content: read(_file(name, content))


_references = _in("references.json", lambda file: repr(ws.load_references(file)))

TARGETS: dict[str, Target] = {
    "run": Target(_run, _json_seeds(RUNS)),
    "run-csv": Target(lambda content: _run(content, "run.csv"), lambda: [b'episode,path\ne1,a b\ne2,"[[0,1]]"\n']),
    "run-parquet": Target(lambda content: _run(content, "run.parquet"), lambda: [_parquet(RUNS["table"])]),
    "references": Target(_references, _json_seeds(REFERENCES)),
    "references-parquet": Target(_references, lambda: [_parquet(TABLE[:1])]),
    "validate": Target(_validate, _json_seeds(RUNS)),
    "evaluate": Target(_evaluate, lambda: [encode(RUNS["r2r"], lines=False)]),
    "convert": Target(_convert, _json_seeds(RUNS)),
    "saved": Target(_saved, _saved_seeds),
    "scores": Target(
        _in("scores.json", lambda file: repr(ws.load_result(file).means())),
        lambda: [b'{"e": {"nDTW": 0.5, "success": 1}}', b"episode,nDTW\ne,0.5\n"],
    ),
    "toml": Target(
        _in("mine.toml", find_convention),
        lambda: [b'base = "duet"\ncomparison = "<="\nthreshold = 2.0\nmetrics = ["SR"]\n'],
    ),
    "signature": Target(
        lambda content: str(ws.Signature.parse(content.decode(errors="surrogateescape"))),
        lambda: [str(_result().signature).encode()],
    ),
    "graph": Target(_graph, lambda: [json.dumps(connectivity("abc", "ab bc")).encode()]),
    "graphs": Target(_in("graphs.tar", lambda file: [*map(repr, list(ws.load_graphs(file).values())[:3])]), _tars),
    "member": Target(_member, _tars),
    "navmesh": Target(
        lambda content: ws.NavMesh(content).between(np.zeros((1, 3)), np.ones((1, 3))), lambda: [l_shape(), two_tiles()]
    ),
    "study": Target(
        _in("study.json", lambda file: study_bytes(read_study(file))),
        lambda: [study_bytes(create(sets=2, raters=1, worlds=1))],
    ),
    "rankings": Target(
        _in("rankings.jsonl", lambda file: [ranking.ranks() for ranking in read_rankings(file)]),
        lambda: [b'{"rater":"1","set":"uc-001","groups":[[2],[0],[1],[3],[4]]}\n'],
    ),
    "street": Target(_street, lambda: [b"p,0,40.7,-73.9\nq,90,40.8,-73.8\n\np,0,q\n"]),
    "text": Target(_text, lambda: ["\x1b[31m \u202e =1+1 <b> $x$ \\".encode()]),
}
