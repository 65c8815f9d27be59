"""Checkpoints on disk: written whole, and looked at before anything of them is used."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wayscore.errors import FormatError, WayscoreError, first_line
from wayscore.reading import check_file, size_limit, too_large
from wayscore.writing import write_whole

CHECKPOINT, CURVE = "checkpoint.pt", "curve.csv"
"""The files of a training in its folder."""
NEEDED = {"recipe", "shape", "vocabulary", "words", "word_weights", "policy"}
"""What a checkpoint has at least."""
LONGEST = 10_000
"""The most words of an instruction that an agent may read."""


def write_checkpoint(path: Path, state: Any) -> None:
    """Write a checkpoint, completely or not at all: one that is there stays until the new one is on the disk."""
    import torch

    content = io.BytesIO()
    torch.save(state, content)
    write_whole(path, content.getvalue())


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Read a checkpoint, or that of an agent's folder."""
    import torch

    file = folder / CHECKPOINT if folder.is_dir() else folder
    try:
        state: dict[str, Any] = torch.load(file, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no checkpoint; train an agent first (wayscore train)") from None
    except Exception as error:
        raise FormatError(f"{file}: is not a checkpoint of wayscore ({error})") from None
    if not isinstance(state, dict) or not NEEDED <= set(state):
        raise FormatError(f"{file}: is not a checkpoint of this version of wayscore; train the agent again")
    return state


@contextmanager
def reading_checkpoint(path: Path) -> Iterator[None]:
    """Refuse a checkpoint that would fill the memory; say in one sentence what does not fit in it.

    Args:
        path: the file, or the folder of the agent.
    """
    file = path / CHECKPOINT if path.is_dir() else path
    if file.exists():
        _check_size(file)
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError) as error:
        if isinstance(error, WayscoreError):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise FormatError(
            f"{file}: is not a checkpoint of this agent ({what}); give one that `wayscore train` wrote"
        ) from None


def _check_size(file: Path) -> None:
    check_file(file)
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # its reader will say what is wrong
    if size > (most := size_limit()):
        raise too_large(str(file), most, " when decompressed")
