"""The colours of every medium: figures, the report's page and the study's pages.

Blue is always the reference and orange the query; further runs have their own. The hues are Okabe and Ito's, which
colour-blind readers tell apart, darkened for contrast on white and lightened for contrast on black.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple


class Shades(NamedTuple):
    """A colour on a light and on a dark background."""

    light: str
    dark: str


PALETTE: Mapping[str, Shades] = MappingProxyType(
    {
        "page": Shades("#faf9f7", "#121417"),
        "card": Shades("#ffffff", "#1a1d21"),
        "halo": Shades("#ffffff", "#1a1d21"),
        "soft": Shades("#f1f0ec", "#23272c"),
        "line": Shades("#e2e1dd", "#2f343a"),
        "border": Shades("#82888f", "#7b838d"),
        "ink": Shades("#1d2126", "#e9eaec"),
        "muted": Shades("#59616b", "#a7afb9"),
        "faint": Shades("#8b939d", "#7d8691"),
        "accent": Shades("#005a8f", "#7cc4f5"),
        "on-accent": Shades("#ffffff", "#0b1620"),
        "edge": Shades("#c9ccd1", "#43494f"),
        "node": Shades("#9aa1aa", "#6b737c"),
        "reference": Shades("#0072b2", "#4aa8e8"),
        "reference-band": Shades("#5ea6d0", "#2c76aa"),
        "query": Shades("#c46200", "#f0a232"),
        "query-text": Shades("#a84e00", "#f0a232"),
        "run-0": Shades("#c46200", "#f0a232"),
        "run-1": Shades("#00785a", "#2dc79d"),
        "run-2": Shades("#a83d7a", "#e08fbf"),
        "run-3": Shades("#6b4a00", "#d8b56a"),
        "run-4": Shades("#3b4a5a", "#b4c0cc"),
        "run-5": Shades("#7a3fb8", "#bd94f0"),
        "run-6": Shades("#b3261e", "#ff8a80"),
        "better": Shades("#00694f", "#3fd0a4"),
        "better-soft": Shades("#e7f4ee", "#12291f"),
        "worse": Shades("#b23a00", "#ff9d5c"),
        "worse-soft": Shades("#fff1e6", "#33200f"),
        "warning": Shades("#fff3d6", "#33290f"),
        "warning-line": Shades("#b87900", "#d79b1e"),
    }
)
"""Name -> shades. `border` and `line` surround controls and tables, `halo` keeps lines apart that cross."""
RUNS = tuple(name for name in PALETTE if name.startswith("run-"))
COSTS = ("#ffffff", "#d3dce6", "#8fa3b8", "#547391")
"""From no cost to the highest, in matrices on paper."""
HIGHLIGHT = "#ffdf8f"
"""The warping in such a matrix."""
UNREACHABLE = "#f3e3e3"
"""Its infinite costs."""


def light(name: str) -> str:
    """Return a colour as it is on white.

    >>> light("reference")
    '#0072b2'
    """
    return PALETTE[name].light


def css() -> str:
    """Return the palette as CSS custom properties, and a class for each run that sets --run.

    Pages follow the reader's system, or `data-theme` of their root. Browsers without light-dark() show light colours.

    >>> "--reference: light-dark(#0072b2, #4aa8e8);" in css()
    True
    """
    plain = "".join(f"  --{name}: {shades.light};\n" for name, shades in PALETTE.items())
    both = "".join(f"    --{name}: light-dark({', '.join(shades)});\n" for name, shades in PALETTE.items())
    runs = "".join(f".{name} {{\n  --run: var(--{name});\n}}\n" for name in RUNS)
    return (
        f":root {{\n  color-scheme: light dark;\n{plain}"
        "  --shadow: 0 1px 2px rgb(0 0 0 / 6%), 0 4px 16px rgb(0 0 0 / 4%);\n}\n"
        f"@supports (color: light-dark(#fff, #000)) {{\n  :root {{\n{both}  }}\n}}\n"
        ':root[data-theme="light"] {\n  color-scheme: light;\n}\n'
        ':root[data-theme="dark"] {\n  color-scheme: dark;\n}\n'
        f"{runs}"
    )


@cache
def base_css() -> str:
    """Return the style sheet that all pages start from: the palette and `base.css`."""
    return css() + files("wayscore").joinpath("base.css").read_text(encoding="utf-8")
