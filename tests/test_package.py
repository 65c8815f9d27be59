"""The package as a whole: its names, what importing it costs, and the README's example."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wayscore as ws

ROOT = Path(__file__).parents[1]
POSIX_ONLY = {"crypt", "fcntl", "grp", "posix", "pwd", "readline", "resource", "syslog", "termios", "tty"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GIVEN_TO_SETUP = """
import runpy, setuptools, sysconfig
known = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: FREE_THREADED if name == "Py_GIL_DISABLED" else known(name)
setuptools.setup = lambda **given: print(given["ext_modules"][0].define_macros, given["options"])
runpy.run_path("setup.py")
"""


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


def test_the_version_is_the_same_everywhere() -> None:
    said = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "README.md": r"version = \{(.+)\}",
    }
    for file, pattern in said.items():
        found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None
        assert found[1] == ws.__version__, file


def test_a_source_distribution_holds_the_tests_and_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = pytest.importorskip("setuptools.command.egg_info").FileList()
    monkeypatch.chdir(ROOT)
    for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            listed.process_template_line(line)
    held = {name.replace("\\", "/") for name in listed.files}
    folders = (
        "benchmarks",
        "docs",
        "examples",
        "recorder/src",
        "recorder/tests",
        "src/wayscore/kernels/native",
        "tests",
    )
    needed = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(needed) > 250
    assert needed <= held, sorted(needed - held)
    assert {"Makefile", "CITATION.cff", "SECURITY.md", "constraints.txt", "mkdocs.yml"} <= held
    assert not [name for name in held if name.endswith((".so", ".pyd", ".pyc"))]


@pytest.mark.parametrize("free_threaded", [0, 1])
def test_only_pythons_with_a_limited_interface_build_for_it(free_threaded: int) -> None:
    pytest.importorskip("setuptools")
    code = GIVEN_TO_SETUP.replace("FREE_THREADED", str(free_threaded))
    words = [sys.executable, "-c", code]
    given = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    limited = sys.version_info >= (3, 11) and not free_threaded
    assert given == (
        "[('Py_LIMITED_API', '0x030B0000')] {'bdist_wheel': {'py_limited_api': 'cp311'}}" if limited else "[] {}"
    )


@pytest.mark.parametrize("folder", ["src", "recorder/src", "benchmarks", "tests"])
def test_modules_of_one_system_are_not_imported_on_others(folder: str) -> None:
    found = []
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path.name}: {name}" for name in names if name in POSIX_ONLY]
    assert not found


@pytest.mark.skipif(not WORKFLOWS, reason="a source distribution has no workflows")
def test_workflows_pin_actions_and_begin_without_permissions() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert "\npermissions: {}\n" in text, path.name
        uses = re.findall(r"^ *-? *uses: (.+)$", text, re.MULTILINE)
        assert uses
        assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one) for one in uses), path.name
