"""Checkpoints on disk: written whole, and looked at before anything of them is used."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wayscore.errors import FormatError, WayscoreError, first_line
from wayscore.reading import check_file, size_limit, too_large
from wayscore.writing import replacing


def write_checkpoint(path: Path, state: Any) -> None:
    """Write a checkpoint, completely or not at all: one that is there stays until the new one is on the disk."""
    import torch

    with replacing(path) as stream:
        torch.save(state, stream)


@contextmanager
def reading_checkpoint(path: Path) -> Iterator[None]:
    """Refuse a checkpoint that would fill the memory; say in one sentence what does not fit in it.

    Args:
        path: the file, or the folder of the agent.
    """
    file = path / "checkpoint.pt" if path.is_dir() else path
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
