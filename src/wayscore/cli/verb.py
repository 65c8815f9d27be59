"""What the verbs of the command are built from: commands, options and arguments whose help is in sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from wayscore.errors import did_you_mean, shortened

Function = TypeVar("Function", bound=Callable[..., Any])


class Option(click.Option):
    """An option that `--help` shows in a section of its own."""

    def __init__(self, *names: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Argument(click.Argument):
    """An argument that `--help` explains."""

    def __init__(self, *names: Any, help: str = "", **settings: Any) -> None:  # noqa: A002 - as options call it
        super().__init__(*names, **settings)
        self.about = help
        self.shown = self.metavar or (str(self.name).upper() if self.required else f"[{str(self.name).upper()}]")


class Verb(click.Command):
    """A command whose help has options in sections, and examples with their line breaks."""

    def __init__(self, *names: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.examples = tuple(examples)

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
        """Write the examples as they are."""
        if self.examples:
            with formatter.section("Example" if len(self.examples) == 1 else "Examples"):
                for line in "\n".join(self.examples).split("\n"):
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Verbs(click.Group):
    """Verbs in the order in which they were added; a wrong name is answered with the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that a command line names, or suggest another."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no verb {args[0]!r}{did_you_mean(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


class _Whole(click.IntRange):
    """A whole number within bounds, whose error says what they are; in a help text they would only be in the way."""

    def _describe_range(self) -> str:
        return ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            return int(super().convert(value, param, ctx))
        except (click.BadParameter, ValueError):
            bounds = f"{self.min} or more" if self.max is None else f"{self.min} to {self.max:,}"
            raise _refused(param, f"a whole number, {bounds}", value, ctx) from None


class _Finite(click.types.FloatParamType):
    """A number that is neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            number = float(super().convert(value, param, ctx))
        except click.BadParameter:
            number = float("nan")
        if number - number != 0:  # of NaN and infinity only
            raise _refused(param, "a number", value, ctx)
        return number


def _refused(
    param: click.Parameter | None, what: str, value: object, context: click.Context | None
) -> click.UsageError:
    return click.UsageError(f"{option_name(param)} must be {what}, not {shortened(value, 40)}", context)


def whole(least: int, most: int | None = None) -> click.IntRange:
    """Return the type of an option that is a whole number; without `most`, the function behind the verb bounds it."""
    return _Whole(least, most)


SEED = whole(0, 2**63 - 1)


def option_name(param: click.Parameter | None) -> str:
    """Return how a user writes an option or an argument."""
    if param is None:
        return "it"
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


def verb(*examples: str, name: str | None = None) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a verb; its docstring is the help, with examples that a user can run."""
    return click.command(name, cls=Verb, examples=examples)


def option(*names: str, **settings: Any) -> Callable[[Function], Function]:
    """Return `click.option` with a section, whose help shows the default."""
    number = settings.get("type")
    if number is float:
        settings["type"] = _Finite()
    if number is float or isinstance(number, click.IntRange):
        settings.setdefault("metavar", "X" if number is float else "N")
    return click.option(*names, cls=Option, **{"show_default": True, **settings})


def argument(name: str, **settings: Any) -> Callable[[Function], Function]:
    """Return `click.argument` with a help text."""
    return lambda function: click.argument(name, cls=Argument, **settings)(function)  # click 8.1 uses a decorator once


def together(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return several options as one decorator, in the order in which `--help` shows them."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
