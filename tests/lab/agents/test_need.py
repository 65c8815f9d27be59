"""Without PyTorch, or with one that is broken, a sentence says so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import wayscore as ws
from wayscore.lab.agents.checkpoints import need_torch


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "is not installed"),
        ("import no_such_part_of_torch", "cannot be imported (No module named 'no_such_part_of_torch')"),
        ("raise OSError('libc10.so: cannot open')", "cannot be imported (libc10.so: cannot open)"),
    ],
)
def test_training_without_pytorch(content: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text(content)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ws.MissingPackageError, match=re.escape(f"PyTorch, which {why}: pip install 'wayscore[")):
        need_torch()
