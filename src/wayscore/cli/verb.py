"""Verbs of the command, imported and built when they are called."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import typer


def build(name: str) -> Any:
    """Return the command of a verb: the function or `typer.Typer` of that name in its file in `wayscore.cli`."""
    verb = getattr(import_module(f"wayscore.cli.{name}"), name)
    if isinstance(verb, typer.Typer):
        return typer.main.get_command(verb)
    alone = typer.Typer(add_completion=False)
    alone.command(name, help=(inspect.getdoc(verb) or "").split("\n\nArgs:")[0])(verb)
    return typer.main.get_command(alone)
