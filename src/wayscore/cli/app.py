"""The root of the `wayscore` command: its verbs, its version, and how mistakes are told.

Nothing here or at the top of a verb's file imports NumPy, so that help and completion are quick.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wayscore.cli.bench import bench
from wayscore.cli.compare import compare
from wayscore.cli.conventions import conventions
from wayscore.cli.demo import demo
from wayscore.cli.score import score
from wayscore.cli.validate import validate
from wayscore.errors import WayscoreError

VERBS: tuple[Callable[..., Any], ...] = (demo, score, compare, validate, conventions, bench)
DEBUG = "--debug"


class OneLineGroup(TyperGroup):
    """A group of verbs that tells a user's mistake in one line and keeps tracebacks for --debug."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; where `standalone_mode`, leave with its exit status."""
        words = list(sys.argv[1:] if args is None else args)
        debug = DEBUG in words
        if debug:  # wherever it stands: people append it to the command that failed
            args = [word for word in words if word != DEBUG]
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            result = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.Abort:  # how some versions of typer tell of an interrupt; others return 130
            sys.exit(130)
        except Exception as error:
            message = _mistake(error)
            if debug or message is None:
                raise
            typer.echo(f"wayscore: {message}", err=True)
            sys.exit(1)
        sys.exit(result if isinstance(result, int) else 0)


def _mistake(error: Exception) -> str | None:
    """Return a user's mistake in one line, or None if the error is of another kind."""
    if isinstance(error, WayscoreError):
        message = str(error)
    elif hasattr(error, "format_message"):  # the parser's own, in whichever module this typer keeps its class
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "wayscore"
        message = f"{error.format_message().rstrip('.')} (see {command} --help)"
    else:
        return None
    return " ".join(message.split("\n"))


app = typer.Typer(
    name="wayscore",
    cls=OneLineGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import platform

        import numpy as np

        from wayscore import __version__, kernels

        libraries = f"Python {platform.python_version()}, NumPy {np.__version__}"
        typer.echo(f"wayscore {__version__} (kernels: {kernels.description}; {libraries})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and kernels."),
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show tracebacks.")] = False,  # noqa: ARG001
) -> None:
    """Scores the way, not just the goal: nDTW, SDTW and more for agents that follow instructions."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for verb in VERBS:
    app.command(help=(inspect.getdoc(verb) or "").split("\n\nArgs:")[0])(verb)


def main() -> None:
    """Run the command line of this process."""
    app(prog_name="wayscore")
