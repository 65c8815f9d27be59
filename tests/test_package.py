"""The package as a whole: its names, what importing it costs, and the README's example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import wayscore as ws

ROOT = Path(__file__).parents[1]


def python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_every_public_name_is_there() -> None:
    assert set(ws.__all__) == set(ws._HOME_OF)
    for name in ws.__all__:
        assert getattr(ws, name) is not None
        assert name in dir(ws)
    with pytest.raises(AttributeError, match="no attribute 'ndwt'"):
        ws.ndwt  # noqa: B018


def test_importing_wayscore_imports_nothing_heavy() -> None:
    heavy = "numpy scipy pyarrow networkx typer rich msgspec"
    assert python(f"import sys, wayscore; print(*(set('{heavy}'.split()) & set(sys.modules)))") == ""
    assert (
        python("import sys, wayscore as ws; ws.dtw; print('scipy' in sys.modules, 'pyarrow' in sys.modules)")
        == "False False"
    )


def test_the_version_is_said_once() -> None:
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert declared[1] == ws.__version__
