"""The style of all figures and how they are saved: colours, widths, fonts, and files that are equal byte for byte.

Nothing here uses pyplot or changes matplotlib's settings, so figures can be made in a server, a notebook or a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayscore.errors import MissingPackageError, OptionError, did_you_mean
from wayscore.palette import RUNS, light
from wayscore.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCE, QUERY = light("reference"), light("query")
EDGE, NODE, FRAME = light("edge"), light("node"), light("line")
INK, FAINT = light("ink"), light("muted")
LINK = INK
CYCLE = (REFERENCE, *map(light, RUNS))  # colours of several runs or curves in one picture
COLUMN = 3.25  # the width of one column of a paper, inches
PAGE = 6.75  # the width of two columns and the space between them, inches
FORMATS = ("pdf", "svg", "png")
TICKS = {"color": INK, "labelsize": 6.5, "major.width": 0.6, "major.size": 2.5, "major.pad": 2.0}
SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],  # the first is part of matplotlib: same bytes everywhere
    "mathtext.fontset": "dejavusans",
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.titlepad": 3.0,
    "axes.labelsize": 7.0,
    "axes.labelpad": 2.5,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in TICKS.items()},
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.4,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "svg.fonttype": "none",  # letters stay text, so that editors can change and search them
    "svg.hashsalt": "wayscore",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Use wayscore's style inside a `with` block; afterwards matplotlib's settings are unchanged.

    >>> import matplotlib
    >>> before = matplotlib.rcParams["font.size"]
    >>> with style():
    ...     matplotlib.rcParams["font.size"]
    7.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """
    need_matplotlib()
    from matplotlib.style import context

    with context(["default", SETTINGS]):
        yield


def need_matplotlib() -> None:
    """Raise an error that says how to install matplotlib, if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "figures need matplotlib, which is not installed: pip install 'wayscore[plot]'"
        ) from None


def new_figure(width: float = COLUMN, height: float = 2.4, *, layout: Any = "constrained") -> Figure:
    """Return an empty figure, independent of pyplot; width and height are in inches. Call it inside `with style():`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | Path, *, dpi: int = 300) -> Path:
    """Write a figure to a .pdf, .svg or .png file, with its caption (the figure's label) in the metadata.

    The same figure always gives the same bytes: the file contains no date and no random names.
    """
    from wayscore import __version__

    path = Path(path)
    form = check_format(path.suffix.removeprefix("."))
    program, caption = f"wayscore {__version__}", str(figure.get_label())
    metadata: dict[str, dict[str, str | None]] = {
        "pdf": {"Creator": program, "CreationDate": None, "Subject": caption},
        "svg": {"Creator": program, "Date": None, "Description": caption},
        "png": {"Software": program, "Description": caption},
    }
    with style(), replacing(path, folders=True) as stream:
        figure.savefig(stream, format=form, dpi=dpi, metadata=metadata[form])
    return path


def check_format(form: str) -> str:
    """Return the name of a file format in lower case, or raise an error if figures cannot be written in it."""
    if form.lower() not in FORMATS:
        raise OptionError(f"figures can be written as pdf, svg or png, not as {form!r}{did_you_mean(form, FORMATS)}")
    return form.lower()
