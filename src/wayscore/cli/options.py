"""The options that several verbs share, with the names of Python's parameters, and how arguments are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli.app import FILE, SEED, option, together, whole, written
from wayscore.convention.choices import CHOICES
from wayscore.errors import must_be

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayscore.formats.episodes import References

POLICIES = {
    "missing": (CHOICES["missing"], "References without a prediction."),
    "unknown": (CHOICES["unknown"], "Predictions for episodes that the references do not have."),
    "duplicate": (CHOICES["duplicate"], "Episodes with several predictions: keep the first, or score all."),
    "start": (("error", "keep", "skip", "zero"), "Queries that do not start where their reference does."),
    "move": (CHOICES["move"], "Queries with a step that is no edge of the graph."),
    "node": (("error", "skip", "zero"), "Queries that visit a node which their scene does not have."),
}
"""What can be done about each kind of problem, as in `wayscore.evaluation.policies.POLICIES`, and its help."""
data_option, scoring_option = partial(option, section="Data"), partial(option, section="Scoring")
statistics_option, work_option = partial(option, section="Statistics"), partial(option, section="Work")
output_option = partial(option, section="Output")


def words(
    context: click.Context, param: click.Parameter, given: Sequence[str], known: Sequence[str] = ()
) -> list[str] | None:
    """Return the words of an option that may be repeated and takes commas: each once, or None for none."""
    found = list(dict.fromkeys(word.strip() for one in given for word in one.split(",") if word.strip()))
    for word in found:
        if known and word not in known:
            raise click.UsageError(must_be(written(param), known, word), context)
    return found or None


class _Setting(click.types.StringParamType):
    """NAME=VALUE."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """Return the name and the value."""
        name, equals, text = value.partition("=")
        if not equals:
            raise click.UsageError(f"--reader takes NAME=VALUE, such as path_type=player, not {value!r}", ctx)
        return name, text


# The data


def _one_file(_: Any, __: Any, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        raise click.UsageError(f"--references is given twice ({', '.join(given)}); a run is scored against one file")
    return given[0] if given else None


def references(required: bool = True, note: str = "") -> Callable[[Any], Any]:
    """References, which some verbs can do without."""
    text = f"References (ground-truth paths): R2R, R4R, RxR, NDH, REVERIE, VLN-CE, ...{note}"
    settings: dict[str, Any] = {"multiple": True, "callback": _one_file, "required": required}
    return data_option("-r --references", text, metavar="FILE", **settings)


graphs = data_option(
    "-g --graphs", "Connectivity graphs: a folder or a tar; not needed if paths are coordinates.", metavar="DIR|TAR"
)
reader = data_option(
    "--reader",
    "A setting of the references' reader, such as objects=FILE or path_type=player; may be repeated.",
    _Setting(),
    multiple=True,
    callback=lambda _, __, given: dict(given),
    metavar="NAME=VALUE",
)
data = together(graphs, reader)
run_format = data_option("--run-format", "Format of the run; recognised by its content by default.", metavar="NAME")
geodesics = together(
    data_option(
        "--navmesh",
        "Habitat's .navmesh files: distances to the goal where the run does not record the simulator's.",
        metavar="DIR",
    ),
    data_option(
        "--walkable", "Measure them along the walks of all references of a scene, where there is no mesh.", bool
    ),
)
views = data_option("--views", "Captions and detections of the views that agents see.", FILE, metavar="TAR")
worlds = data_option("--worlds", "Generated worlds and instructions; no data needed.", bool)

# What changes a number

convention = scoring_option(
    "--convention",
    "Convention to score by: a name of `wayscore conventions`, or your own .toml file; paper by default.",
    metavar="NAME|FILE",
)
threshold = scoring_option(
    "--threshold",
    "Success threshold d_th, in the unit of the distance; the convention's by default.",
    float,
    metavar="D_TH",
)
metrics = scoring_option(
    "--metrics",
    "Metrics, such as nDTW,SDTW; may be repeated; the convention's by default.",
    multiple=True,
    callback=words,
    metavar="SYMBOLS",
)
path_step = scoring_option(
    "--path-step",
    "Resample paths of coordinates with this step before warping: nDTW depends on their density.",
    float,
    metavar="METRES",
)
repeats = scoring_option(
    "--repeats", "Steps that repeat the node before them; the convention's by default.", [*CHOICES["repeats"]]
)
policies = together(
    *(
        option(f"--{name}", text, [*choices], section="Problems of the data")
        for name, (choices, text) in POLICIES.items()
    )
)

# Statistics, and where the work is done

cluster = statistics_option(
    "--cluster",
    "What the bootstrap resamples: paths if several episodes share one (auto), episodes (none), paths or scans.",
    ["auto", "none", "path", "scan"],
    "auto",
)
resamples = statistics_option("--resamples", "Resamples of the bootstrap and of randomization tests.", whole(1), 10_000)
seed = statistics_option("--seed", "Random seed of the bootstrap.", SEED, 0)
engines = together(
    work_option(
        "--workers",
        "Threads that score Parquet, or processes for other files; by default one, and all cores for more than a "
        "million answers.",
        whole(1),
    ),
    work_option("--engine", "Score on this machine, or on a Dask cluster.", ["local", "dask"], "local"),
    work_option("--scheduler", "Scheduler of --engine dask; a cluster on this machine by default.", metavar="ADDRESS"),
    work_option("--chunk", "Episodes in the memory of a worker at a time.", whole(1), 65_536),
)
evaluation = together(
    *(run_format, geodesics, convention, threshold, metrics, path_step, repeats, policies),
    *(cluster, resamples, seed, engines),
)
"""All settings of `evaluate` and `compare` besides the data, under the names of their parameters."""

# Output


means_form = output_option(
    "-f --format form",
    "Format of the output; json and csv have fractions (not percent), and all digits.",
    ["text", "json", "csv", "markdown", "latex"],
    "text",
)


def form(*choices: str, default: str = "text", text: str = "Format of the output.") -> Callable[[Any], Any]:
    """-f/--format of a verb that has these."""
    return output_option("-f --format form", text, [*choices], default)


def out(text: str, **settings: Any) -> Callable[[Any], Any]:
    """-o/--out of a verb whose job it is to write."""
    return output_option("-o --out", text, FILE, metavar="PATH", **settings)


class _Page(click.Path):
    """A file of HTML."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a page."""
        if not value.lower().endswith((".html", ".htm")):
            name = os.path.basename(value)
            raise click.UsageError(f"--html must end in .html, not {name!r}; `wayscore figures` draws .pdf and .png")
        return super().convert(value, param, ctx)


html = output_option(
    "--html",
    "Also write a page for a browser: tables, figures and every episode, in one file that needs no network.",
    _Page(path_type=Path),
)
figure = output_option("--figure", "Also draw a figure: a .pdf, .svg or .png file.", FILE)
dpi = output_option("--dpi", "Dots per inch of .png files.", whole(1, 2_400), 300)
up = output_option(
    "--up", "Coordinate axis that points up, which maps look along; y in files of VLN-CE, else z.", ["z", "y"]
)


def check_figure(file: Path | None) -> None:
    """Refuse a figure that cannot be drawn, before the work begins."""
    if file is not None:
        from wayscore.figures.style import check_format, need_matplotlib

        check_format(file.suffix.removeprefix("."))
        need_matplotlib()


def draw(file: Path | None, make: Callable[..., Figure], *given: Any) -> None:
    """Draw a figure of something, if there is a file for it."""
    if file is not None:
        from wayscore.figures.style import save

        save(make(*given), file)


# Arguments


def named_runs(arguments: Iterable[str]) -> list[tuple[str | None, str]]:
    """Return the name, if one is given, and the file of each argument.

    Files of one name in several folders get names that differ, so that they are not taken for runs of one agent.

    >>> named_runs(["A=a.json", "A=b.json", "agent.json"])
    [('A', 'a.json'), ('A', 'b.json'), (None, 'agent.json')]
    >>> named_runs(["old/results.json", "new/results.json"])
    [('old/results', 'old/results.json'), ('new/results', 'new/results.json')]
    """
    from wayscore.evaluation.result import names_apart

    parted = [split_name(argument) for argument in arguments]
    unnamed = [place for name, place in parted if name is None]
    if len(unnamed) < 2:
        return parted
    folders = (os.path.basename(os.path.dirname(os.path.abspath(place))) for place in unnamed)
    apart = iter(names_apart([stem(place) for place in unnamed], folders))
    runs: list[tuple[str | None, str]] = []
    for name, place in parted:
        wanted = next(apart) if name is None else name
        runs.append((None if name is None and wanted == stem(place) else wanted, place))
    return runs


def split_name(argument: str) -> tuple[str | None, str]:
    """Return the name and the file of NAME=FILE; a file whose own name has "=" in it is just that.

    >>> split_name("A=a.json"), split_name("sweep/lr=0.1/results.json"), split_name("s3://runs/lr=1.json")
    (('A', 'a.json'), (None, 'sweep/lr=0.1/results.json'), (None, 's3://runs/lr=1.json'))
    """
    name, equals, place = argument.partition("=")
    if not equals or not name or not place or "/" in name or os.sep in name:
        return None, argument
    import glob

    if os.path.exists(argument) or (glob.has_magic(argument) and glob.glob(argument)):
        return None, argument
    return name, place


def stem(place: str) -> str:
    """Return a file's name without folder and endings.

    >>> stem("runs/agent.json.gz"), stem("runs/agent/")
    ('agent', 'agent')
    """
    name = os.path.basename(place.rstrip("/")).removesuffix(".gz")
    return os.path.splitext(name)[0]


def file_name(name: str) -> str:
    """Return a run's name as part of a file's, on any system.

    >>> file_name("a/b: lr=0.1")
    'a-b- lr=0.1'
    """
    return re.sub(r'[/\\:*?"<>|]', "-", name)


def load(
    references: str, graphs: str | None, reader: dict[str, str], convention: Any = "paper"
) -> tuple[References, Any]:
    """Return the references and the distances of their scenes, None for Euclidean."""
    from wayscore.formats import load_references
    from wayscore.formats.benchmarks import distances_for

    found = load_references(references, **reader)
    return found, distances_for(found, graphs, convention)
