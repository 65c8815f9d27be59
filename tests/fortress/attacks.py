"""A small house on disk, and the command on it under limits of memory, on closed streams and on a terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.house import connectivity

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

COMMAND = [sys.executable, "-m", "wayscore"]
HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e<img src=x onerror=alert(1)>|=1+1|$x$[a](javascript:b)\\"
"""A name that a terminal, a browser, a spreadsheet, Markdown, LaTeX or matplotlib would obey."""


def house(folder: Path, episode: str = "7_0", scan: str = "S") -> list[str]:
    """Write a run, references and graphs of one scan; return the words after `wayscore score`."""
    path_id, _, _ = episode.rpartition("_")
    record = {"path_id": path_id, "scan": scan, "heading": 0.0, "path": ["a", "b"], "distance": 1.0}
    (folder / "references.json").write_text(json.dumps([{**record, "instructions": ["go"]}]))
    (folder / "run.json").write_text(json.dumps([{"instr_id": episode, "trajectory": [["a", 0, 0], ["b", 0, 0]]}]))
    graphs = folder / "graphs"
    graphs.mkdir(exist_ok=True)
    (graphs / f"{scan}_connectivity.json").write_text(json.dumps(connectivity("abc", "ab bc")))
    return [str(folder / "run.json"), "-r", str(folder / "references.json"), "-g", str(graphs)]


def tar_of(members: Iterable[tuple[str, bytes]], *others: tarfile.TarInfo, mode: Any = "w") -> bytes:
    """Return a tar of files, and of others that have no content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for entry in others:
            archive.addfile(entry)
    return out.getvalue()


def wayscore(*words: str, memory: int | None = None, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, which may have so many bytes of memory."""

    def limited() -> None:
        if memory is not None and resource is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", **settings.pop("env", {})}
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.run(
        [*COMMAND, *words], text=True, errors="replace", preexec_fn=limited, env=environment, check=False, **settings
    )
