"""`wayscore conventions`: the list, one in full, or what two of them do differently."""

from __future__ import annotations

from typing import Annotated

import typer


def conventions(
    name: Annotated[str | None, typer.Argument(help="One convention, in full.", show_default=False)] = None,
    diff: Annotated[tuple[str, str] | None, typer.Option(help="Two conventions: what they do differently.")] = None,
) -> None:
    """List the conventions that scores can be computed by.

    Example: wayscore conventions --diff duet paper

    Args:
        name: one convention, in full; a name or a .toml file.
        diff: two conventions, to see what they do differently.
    """
    from dataclasses import asdict

    from wayscore.convention import CONVENTIONS, find_convention

    if diff is not None:
        first, second = map(find_convention, diff)
        for choice, (here, there) in first.differences(second).items():
            typer.echo(f"{choice}: {first.name} {_text(here)}, {second.name} {_text(there)}")
    elif name is not None:
        for choice, value in asdict(find_convention(name)).items():
            typer.echo(f"{choice}: {_text(value)}")
    else:
        width = max(map(len, CONVENTIONS))
        for convention in CONVENTIONS.values():
            typer.echo(f"{convention.name:{width}}  {convention.about}")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "all"
    return str(value)
