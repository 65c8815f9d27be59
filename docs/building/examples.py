"""The examples of a page, run in order: files written, Python executed, commands called.

Pages are Markdown with fenced blocks, and a block's language says what is done with it:

- one with `title="name"` is written to a file of that name; a `pyproject.toml` is installed, as far as its entry
  points go;
- `python` is executed, in one namespace per page. With `>>>` it is a doctest; else, if lines end in
  `print(...)  # text`, what is printed must be that text;
- `sh` and `console` are run: every command must succeed. Of `console`, whose commands begin with `$`, the output is
  shown below each command;
- `<!-- not run: reason -->` on the line above exempts a block.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
EXEMPT = re.compile(r"<!-- not run: (.+?) -->\n\Z")
PRINTED = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)
SHELL = ("sh", "console")
RECORDER = Path(__file__).parents[2] / "recorder" / "src"
"""Where the recorder is, which examples import."""
COLUMNS = "84"
"""How wide the terminal of a command is."""


class ExampleError(Exception):
    """An example does not do what its page says."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        language: what stands after the fence.
        code: what it holds.
        line: where it begins in its page.
        span: where it is in the page's text.
        title: the file that it is, if any.
        exempt: why it is not run, if it is not.
    """

    language: str
    code: str
    line: int
    span: tuple[int, int]
    title: str = ""
    exempt: str = ""

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, continued lines joined."""
        lines = self.code.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.startswith("#")]


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for match in FENCE.finditer(text):
        title, exempt = TITLE.search(match[2]), EXEMPT.search(text, 0, match.start())
        found.append(
            Block(
                language=match[1],
                code=match[3],
                line=text.count("\n", 0, match.start()) + 1,
                span=match.span(),
                title=title[1] if title else "",
                exempt=exempt[1] if exempt else "",
            )
        )
    return found


@dataclass(slots=True)
class Counts:
    """How many examples ran: Python blocks, commands, files; and how many blocks did not."""

    python: int = 0
    commands: int = 0
    files: int = 0
    exempt: int = 0


@dataclass(slots=True)
class Runner:
    """Runs the examples of one page in a folder of its own, which holds the files that they read.

    Attributes:
        page: its name, for errors.
        folder: where the examples run.
        counts: what has run.
    """

    page: str
    folder: Path
    counts: Counts = field(default_factory=Counts)
    _names: dict[str, Any] = field(default_factory=dict)

    def run(self, text: str) -> str:
        """Run every example of a page's text; return the text with the output of its commands."""
        result, end = [], 0
        with self._within():
            for block in blocks_of(text):
                result.append(text[end : block.span[0]])
                result.append(self._run(block, text[slice(*block.span)]))
                end = block.span[1]
        return "".join([*result, text[end:]])

    def _run(self, block: Block, shown: str) -> str:
        if block.exempt:
            self.counts.exempt += 1
        elif block.title:
            self.counts.files += 1
            self._write(block)
        elif block.language == "python":
            self.counts.python += 1
            self._execute(block)
        elif block.language in SHELL:
            outputs = [self._call(command, block) for command in block.commands]
            self.counts.commands += len(outputs)
            if block.language == "console":
                return _with_outputs(block, outputs)
        return shown

    def _write(self, block: Block) -> None:
        file = self.folder / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.code, encoding="utf-8")
        if file.name == "pyproject.toml":
            _install(self.folder, tomllib.loads(block.code)["project"])

    def _execute(self, block: Block) -> None:
        where = f"{self.page}, line {block.line}"
        if ">>>" in block.code:
            self._doctest(block, where)
            return
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(block.code, where, "exec"), self._names)
        except Exception as error:
            raise ExampleError(f"{where}: {type(error).__name__}: {error}") from error
        expected = PRINTED.findall(block.code)
        if expected and expected != printed.getvalue().splitlines():
            raise ExampleError(f"{where}: prints {printed.getvalue().splitlines()}, but its page says {expected}")

    def _doctest(self, block: Block, where: str) -> None:
        test = doctest.DocTestParser().get_doctest(block.code, self._names, where, where, block.line)
        test.globs = self._names  # not a copy: later blocks go on with what this one defines
        report = io.StringIO()
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.write, clear_globs=False)
        if report.getvalue():
            raise ExampleError(f"{where}: {report.getvalue()}")

    def _call(self, command: str, block: Block) -> str:
        from click.testing import CliRunner

        from wayscore.cli.app import app

        program, *words = shlex.split(command, comments=True)
        where = f"{self.page}, line {block.line}"
        if program != "wayscore":
            raise ExampleError(f"{where}: only the command wayscore is run here, not {program}; exempt the block")
        path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))  # where it is installed
        result = CliRunner().invoke(app, words, env={"COLUMNS": COLUMNS, "PATH": path}, prog_name="wayscore")
        if result.exit_code:
            raise ExampleError(f"{where}: `{command}` fails: {result.output or repr(result.exception)}")
        return result.output

    @contextlib.contextmanager
    def _within(self) -> Iterator[None]:
        """Work in the folder, which modules and installed packages are found in; forget its modules afterwards."""
        before, modules, home = sys.path.copy(), dict(sys.modules), os.getcwd()
        self._names["__name__"] = "__main__"
        sys.path[:0] = [os.fspath(self.folder), os.fspath(RECORDER)]
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(home)
            sys.path[:] = before
            for name in [name for name, module in sys.modules.items() if self._is_ours(name, module, modules)]:
                del sys.modules[name]

    def _is_ours(self, name: str, module: ModuleType, before: dict[str, ModuleType]) -> bool:
        file = getattr(module, "__file__", None)
        return name not in before and file is not None and Path(file).is_relative_to(self.folder)


def _with_outputs(block: Block, outputs: list[str]) -> str:
    """Return a console block with each command's output below it."""
    lines = []
    given = iter(outputs)
    for number, line in enumerate(block.code.splitlines()):
        if line.startswith("$ ") and number:
            lines.append("")
        lines.append(line)
        if not line.endswith("\\"):
            lines += next(given).rstrip().splitlines()
    return "```console\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


def _install(folder: Path, project: dict[str, Any]) -> None:
    """Write what an installer writes of a project's name and entry points, so that they are found on the path."""
    home = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    home.mkdir(exist_ok=True)
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project.get("entry-points", {}).items()
    )
    (home / "entry_points.txt").write_text("\n".join(groups))
