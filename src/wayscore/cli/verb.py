"""Verbs of the command, imported and built when they are called, with plain values converted on the spot.

Typer converts values with a validation library whose import takes longer than a run takes to score. So text, paths
and numbers as most options have them are converted here; all else, mistakes among it, is left to typer.
"""

from __future__ import annotations

import inspect
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand
from typer.models import ParameterInfo

PLAIN = (str, Path, int, float, bool)
CHECKS = ("parser", "min", "max", "clamp", "exists", "file_okay", "dir_okay", "writable", "resolve_path", "path_type")
"""What options may ask typer to check or to change."""


class Verb(TyperCommand):
    """A command that leaves to typer only those values that are not plain."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the option for help among them."""
        return hastened(super().get_params(ctx))


def build(name: str) -> Any:
    """Return the command of a verb: the function or `typer.Typer` of that name in its file in `wayscore.cli`."""
    verb = getattr(import_module(f"wayscore.cli.{name}"), name)
    if isinstance(verb, typer.Typer):
        return typer.main.get_command(verb)
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=Verb, help=(inspect.getdoc(verb) or "").split("\n\nArgs:")[0])(verb)
    return typer.main.get_command(alone)


def hastened(params: list[Any]) -> list[Any]:
    """Let parameters convert plain values by themselves, where their typer is one that would ask its library."""
    for param in params:
        described = getattr(param, "type_descriptor", None)
        if described is not None and "process_value" not in vars(param):
            kind = described.annotation
            several = getattr(kind, "__origin__", None) is list
            kind = kind.__args__[0] if several else kind
            many = getattr(param, "multiple", False) or param.nargs == -1
            if kind in PLAIN and several == many and not _is_checked(described.parameter_info):
                param.process_value = partial(_value, param, kind, several, param.process_value)
    return params


def _is_checked(asked: Any) -> bool:
    nothing = ParameterInfo()
    return any(getattr(asked, name, None) != getattr(nothing, name, None) for name in CHECKS)


def _value(param: Any, kind: Any, several: bool, typers_own: Any, ctx: Any, value: Any) -> Any:
    if param.required and not value:
        return typers_own(ctx, value)  # it says what is missing
    try:
        converted: Any = () if several else None
        if value is not None:
            converted = [_convert(kind, item) for item in value] if several else _convert(kind, value)
    except (TypeError, ValueError):
        return typers_own(ctx, value)  # and what is wrong
    return converted if param.callback is None else param.callback(ctx, param, converted)


def _convert(kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if kind is bool:
        raise TypeError("flags have no text")
    return kind(value)
