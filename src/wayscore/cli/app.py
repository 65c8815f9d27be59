"""The root of the `wayscore` command: its verbs, its version, and how mistakes are told.

Nothing here or at the top of a verb's file imports NumPy, so that help and completion are quick. A verb's file is
imported when the verb is called, or when help lists them all.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wayscore.cli.verb import build
from wayscore.errors import WayscoreError

VERBS = (
    *("demo", "score", "compare", "validate", "align", "figures", "conventions"),
    *("convert", "build", "baseline", "train", "rollout", "reproduce", "study", "bench"),
)
"""In the order of the help; each is the function of that name in `wayscore.cli.<name>`."""
DEBUG = "--debug"
OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""A command keeps most of what it makes: looking for garbage every 700 objects takes a tenth of its time."""


class OneLineGroup(TyperGroup):
    """A group of verbs that tells a user's mistake in one line and keeps tracebacks for --debug."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {**dict.fromkeys(VERBS), **self.commands}  # type: ignore[dict-item]  # None: not built yet

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb, built when first asked for; None where there is none of this name."""
        if cmd_name in VERBS and self.commands[cmd_name] is None:
            self.commands[cmd_name] = build(cmd_name)
        return super().get_command(ctx, cmd_name)

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


def main() -> None:
    """Run the command line of this process."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # what is left when the process ends goes with it, and need not be looked through
    app(prog_name="wayscore")
