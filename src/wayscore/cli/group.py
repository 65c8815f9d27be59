"""The root of the `wayscore` command: verbs that are loaded when they are called, errors, and exit statuses.

Neither this file nor a verb's file imports NumPy at its top, so that help and completion are quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from wayscore.cli.app import CALL, DATA, FAULT, INTERRUPTED
from wayscore.cli.verb import Verbs
from wayscore.errors import MissingPackageError, OptionError, WayscoreError, first_line
from wayscore.foreign import shown

SECTIONS = {
    "Scores": {
        "demo": "Try everything on generated worlds; no data needed.",
        "score": "Score runs: means with 95 % intervals, and a signature.",
        "compare": "Compare runs on the episodes they share, with paired tests.",
        "validate": "Check a result file and list every problem.",
        "align": "Show how one episode's query is warped to its reference.",
        "conventions": "List the conventions, or what two of them do differently.",
    },
    "Files": {
        "figures": "Draw the paper's figures, or figures of a run.",
        "convert": "Convert a result file or references to Parquet.",
        "build": "Build R4R from R2R.",
    },
    "Agents and experiments": {
        "baseline": "Score random walks.",
        "train": "Train an agent by imitation, then with a reward.",
        "rollout": "Run a trained agent and write a result file.",
        "reproduce": "Train and test the agents of the paper's Table 2.",
        "audit": "Test claims about metrics: in experiments, and on the runs of real systems.",
        "audit-people": "Correlate metrics with people's judgements of the same walks.",
        "study": "Ask people which paths they prefer, and find the metric that agrees with them.",
    },
}
"""Every verb with one line of help; each is the command of that name in `wayscore.cli.<name>`, `-` being `_`."""
VERBS = {verb: line for verbs in SECTIONS.values() for verb, line in verbs.items()}
DEBUG = "--debug"


class Root(Verbs):
    """The verbs, each imported when it is called; errors take a line or two, and --debug shows their tracebacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb, or None where there is none of this name."""
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"wayscore.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs in their sections, without importing them."""
        for section, verbs in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(verbs.items()), col_max=max(map(len, VERBS)))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and, where `standalone_mode`, leave with its exit status."""
        words = list(sys.argv[1:] if args is None else args)
        debug = DEBUG in words  # wherever it stands: people append it to the command that failed
        args = [word for word in words if word != DEBUG] if debug else args
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        output = sys.stdout
        try:
            status = super().main(args, prog_name, complete_var, False, **extra)
        except SystemExit:
            if sys.stdout is not output:  # how click leaves when nobody reads on: `wayscore ... | head`
                sys.exit(0)
            raise
        except click.Abort:
            sys.exit(INTERRUPTED)
        except Exception as error:
            status, message = _explained(error)
            if debug:
                from traceback import format_exception

                message = "".join(format_exception(error)).rstrip()
            with suppress(OSError):  # nobody takes that either
                click.echo(shown(message if debug else f"wayscore: {message}", "text"), err=True)
        sys.exit(status if isinstance(status, int) else 0)


def _explained(error: Exception) -> tuple[int, str]:
    """Return the exit status of an error, and what to print."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "wayscore"
        return CALL, f"{_line(error.format_message()).rstrip('.')} (see {command} --help)"
    if isinstance(error, WayscoreError):
        status = CALL if isinstance(error, OptionError | MissingPackageError) else DATA
        return status, _line(error.as_command())
    if isinstance(error, MemoryError):
        return DATA, "the memory of this machine is not enough for this; use fewer --workers or smaller files"
    if isinstance(error, OSError):
        where = "this machine" if error.filename is None else error.filename
        return DATA, f"{where}: {error.strerror or first_line(error)}"
    if said := _of_database(error):
        return DATA, f"the database: {said}; see that it can be written and that its disk is not full"
    what = f"{type(error).__name__}: {first_line(error)}"
    return FAULT, f"internal error: {what}\nThis is a bug in wayscore: please report it; {DEBUG} shows the traceback."


def _of_database(error: Exception) -> str:
    """Return what a database says that cannot do its work: it is read-only, locked, full or gone; "" for others."""
    known = [sys.modules[name].OperationalError for name in ("sqlite3", "sqlalchemy.exc") if name in sys.modules]
    return first_line(getattr(error, "orig", None) or error) if isinstance(error, tuple(known)) else ""


def _line(message: str) -> str:
    return " ".join(message.split("\n"))


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from wayscore.cli.app import version

        click.echo(version())
        context.exit()


@click.group(
    "wayscore",
    cls=Root,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.option(
    DEBUG, is_flag=True, expose_value=False, help="Show the traceback of an error; can be put anywhere in the command."
)
@click.pass_context
def app(context: click.Context) -> None:
    """Scores the way, not just the goal: nDTW, SDTW and more for agents that follow instructions.

    `wayscore VERB --help` explains one verb. To start, run: wayscore demo
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
