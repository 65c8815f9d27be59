"""The `wayscore` command: its verbs, the options and arguments that these are built from, errors and exit statuses.

A verb is loaded when it is called, and no verb's file imports NumPy at its top, so that help and completion are quick.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from wayscore.cli import CALL, DATA, FAULT, INTERRUPTED, main as main, version as version_text
from wayscore.errors import MissingPackageError, OptionError, WayscoreError, did_you_mean, first_line, must_be
from wayscore.escaping import escape

Function = TypeVar("Function", bound=Callable[..., Any])

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
"""Every verb with one line of help."""
MODULES = {
    **dict.fromkeys(("baseline", "train", "rollout", "reproduce"), "agents"),
    **dict.fromkeys(SECTIONS["Files"], "files"),
    **dict.fromkeys(("compare", "validate"), "score"),
    **dict.fromkeys(("align", "conventions"), "explain"),
    "audit-people": "audit",
}
"""The modules of verbs that are not in one of their own name."""
VERBS = {verb: line for verbs in SECTIONS.values() for verb, line in verbs.items()}
DEBUG = "--debug"


# What verbs are built from


def written(param: click.Parameter) -> str:
    """Return how a user writes an option or an argument."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


class _Checked(click.Parameter):
    """A parameter whose error names it, what it must be and what came; a number is finite."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return what was given, converted to the parameter's type."""
        try:
            found = super().type_cast_value(ctx, value)
            if not isinstance(found, float) or math.isfinite(found):
                return found
        except click.BadParameter:
            pass
        kind, choices = self.type, ["a number"]
        if isinstance(kind, click.Choice):
            choices = list(kind.choices)
        elif isinstance(kind, click.IntRange):
            bounds = f"{kind.min} or more" if kind.max is None else f"{kind.min} to {kind.max:,}"
            choices = [f"a whole number, {bounds}"]
        raise click.UsageError(must_be(written(self), choices, value), ctx)


class Option(_Checked, click.Option):
    """An option that `--help` shows in a section, with its default."""

    def __init__(self, *names: Any, section: str = "Options", **settings: Any) -> None:
        kind = settings.get("type")
        if kind is float or isinstance(kind, click.IntRange | click.Path):
            settings.setdefault("metavar", "X" if kind is float else "FILE" if isinstance(kind, click.Path) else "N")
        super().__init__(*names, **{"show_default": True, **settings})
        self.section = section


class Argument(_Checked, click.Argument):
    """An argument that `--help` explains."""

    def __init__(self, *names: Any, about: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.about = about
        self.shown = self.metavar or (str(self.name).upper() if self.required else f"[{str(self.name).upper()}]")


class Verb(click.Command):
    """A command whose help has options in sections; its epilog is examples, one per line."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, and then options section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, Argument):
                sections.setdefault("Arguments", []).append((param.shown, param.about))
            elif record := param.get_help_record(ctx):
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 - lists break lines by themselves
        """Return the first paragraph of the help."""
        return " ".join((self.help or "").partition("\n\n")[0].split())

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the examples with their line breaks."""
        if self.epilog:
            with formatter.section("Examples" if "\nwayscore" in self.epilog else "Example"):
                for line in self.epilog.split("\n"):
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


FILE = click.Path(path_type=Path)


class whole(click.IntRange):  # noqa: N801 - a type of an option, as `float` is one
    """A whole number within bounds, which help does not show; without the upper one, the function behind has it."""

    def _describe_range(self) -> str:
        return ""


SEED = whole(0, 2**63 - 1)


def verb(*examples: str, name: str | None = None) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a verb; its docstring is the help, with examples that a user can run."""
    return click.command(name, cls=Verb, epilog="\n".join(examples))


def option(names: str, text: str, kind: Any = None, default: Any = None, **settings: Any) -> Callable[[Any], Any]:
    """Return an option of a verb.

    Args:
        names: such as "-g --graphs"; a word without dashes is the name of the value.
        text: its help.
        kind: its type: bool is a flag, a list holds the words to choose from, in any case; by default it is text.
        default: its default, which help shows.
        settings: others of `click.Option`, and the `section` of the help.
    """
    if isinstance(kind, list):
        kind = click.Choice(kind, case_sensitive=False)
    settings |= {"is_flag": True} if kind is bool else {"type": kind}
    if default is not None:
        settings["default"] = default
    return click.option(*names.split(), cls=Option, help=text, **settings)


def argument(name: str, text: str, kind: Any = None, **settings: Any) -> Callable[[Any], Any]:
    """Return an argument of a verb: its name, help and type, as those of options."""
    settings |= {"about": text, "type": click.Choice(kind, case_sensitive=False) if isinstance(kind, list) else kind}
    return lambda function: click.argument(name, cls=Argument, **settings)(function)  # click 8.1 uses a decorator once


def together(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return several options as one decorator, in the order in which `--help` shows them."""
    return lambda function: reduce(lambda made, decorate: decorate(made), reversed(decorators), function)


class Verbs(click.Group):
    """Verbs in the order in which they were added; a wrong name is answered with the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, or suggest another where there is none of this name."""
        found = self.commands.get(cmd_name)
        if found is None and not cmd_name.startswith("-") and not ctx.resilient_parsing:
            known = did_you_mean(cmd_name, self.list_commands(ctx))
            raise click.UsageError(f"there is no verb {cmd_name!r}{known}", ctx)
        return found


# The command


class Root(Verbs):
    """The verbs, each imported when it is called; errors take a line or two, and --debug shows their tracebacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb."""
        if cmd_name not in VERBS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"wayscore.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
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
        debug = DEBUG in words  # anywhere: people append it to the command that failed
        args = [word for word in words if word != DEBUG] if debug else args
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        output = sys.stdout
        try:
            status = super().main(args, prog_name, complete_var, False, **extra)
        except SystemExit:
            if sys.stdout is not output:  # so click leaves when the pipe is closed: `wayscore ... | head`
                sys.exit(0)
            raise
        except click.Abort:
            sys.exit(INTERRUPTED)
        except Exception as error:
            status, message = explain(error)
            if debug:
                from traceback import format_exception

                message = "".join(format_exception(error)).rstrip()
            with suppress(OSError):  # standard error is closed too
                click.echo(escape(message if debug else f"wayscore: {message}", "text"), err=True)
        sys.exit(status if isinstance(status, int) else 0)


def explain(error: Exception) -> tuple[int, str]:
    """Return the exit status of an error, and what to print."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        said = error.format_message().replace("\n", " ").rstrip(".")
        return CALL, f"{said} (see {context.command_path if context else 'wayscore'} --help)"
    if isinstance(error, WayscoreError):
        status = CALL if isinstance(error, OptionError | MissingPackageError) else DATA
        return status, error.as_command().replace("\n", " ")
    if isinstance(error, MemoryError):
        return DATA, "the memory of this machine is not enough for this; use fewer --workers or smaller files"
    if isinstance(error, OSError):
        where = "this machine" if error.filename is None else error.filename
        return DATA, f"{where}: {error.strerror or first_line(error)}"
    databases = [sys.modules[name].OperationalError for name in ("sqlite3", "sqlalchemy.exc") if name in sys.modules]
    if isinstance(error, tuple(databases)):  # it is read-only, locked, full or gone
        said = first_line(getattr(error, "orig", None) or error)
        return DATA, f"the database: {said}; see that it can be written and that its disk is not full"
    what = f"{type(error).__name__}: {first_line(error)}"
    return FAULT, f"internal error: {what}\nThis is a bug in wayscore: please report it; {DEBUG} shows the traceback."


@click.group(
    "wayscore",
    cls=Root,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.option(
    DEBUG, is_flag=True, expose_value=False, help="Show the traceback of an error; can be put anywhere in the command."
)
@click.pass_context
def app(context: click.Context, version: bool) -> None:
    """Scores the way, not just the goal: nDTW, SDTW and more for agents that follow instructions.

    `wayscore VERB --help` explains one verb. To start, run: wayscore demo
    """
    if version:
        click.echo(version_text())
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
