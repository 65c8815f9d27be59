"""`wayscore convert`, `build` and `figures`: files made of files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.app import SEED, argument, option, verb, whole
from wayscore.cli.options import data_option, load, output_option, words
from wayscore.cli.output import progress, say, warn
from wayscore.errors import OptionError, must_be

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
WORLDS = ("warping", "comparison", "gallery", "matrix", "metrics")
"""What is drawn in generated worlds: the paper's three figures, its Algorithm 1, and nDTW against other metrics."""
OF_A_RUN = ("gallery", "metrics")
POLICIES: dict[str, Any] = {
    **dict.fromkeys(("missing", "unknown", "node"), "skip"),
    **dict.fromkeys(("duplicate", "start", "move"), "keep"),
}
"""Pictures are of what is there; a warning names what is left out."""
figures_option = partial(option, section="Figures")


@verb(
    "wayscore convert results.json -o results.parquet",
    "wayscore convert rollouts.jsonl -o rollouts.parquet -r R2R_train.json",
)
@argument("file", "Result file or references, in any format.")
@options.references(required=False, note="; for a run, they add the scene of each row.")
@options.reader
@data_option(
    "--as kind", "Whether FILE is a run or references, if it is a table that could be both.", ["run", "references"]
)
@options.out("File to write; by default FILE's name with the ending .parquet, in the current folder.")
def convert(file: str, references: str | None, reader: dict[str, str], kind: Any, out: Path | None) -> None:
    """Convert a result file or references to Parquet, so that large files are read faster and in little memory.

    The new file holds the same rows and can be used wherever the original can. If FILE is JSON lines or Parquet, it may
    be larger than memory.
    """
    from wayscore.formats.base import MEMBER_MARK, Source
    from wayscore.formats.convert import convert as convert_file

    if wrong := reader.keys() & {"references", "kind", "progress"}:
        raise OptionError(
            f"--reader: there is no setting {min(wrong)!r}; known ones are path_type, language, objects and dense"
        )
    archive, _, member = file.partition(MEMBER_MARK)
    target = out or f"{Source(Path(archive), b'', member).stem}.parquet"
    with progress() as tell:
        progress_of_rows = partial(tell, "rows")
        made = convert_file(file, target, references=references, kind=kind, progress=progress_of_rows, **reader)
    what = "a run" if made.kind == "run" else "references"
    say(f"{made.file}: {made.rows:,} rows of {what}, {_size(made.read)} in, {_size(made.written)} out")


def _size(count: int) -> str:
    """Return a number of bytes with its unit.

    >>> _size(301_200_000), _size(12)
    ('301.2 MB', '12 bytes')
    """
    units = [unit for unit in UNITS if count >= UNITS[unit]]
    return f"{count / UNITS[units[-1]]:.1f} {units[-1]}" if units else f"{count} bytes"


@verb("wayscore build r4r R2R_val_unseen.json --graphs connectivity/ -o R4R_val_unseen.json")
@argument("dataset", "Dataset to build.", ["r4r"], metavar="r4r", expose_value=False)
@argument("annotations", "R2R annotations: any split that contains paths.")
@option("-g --graphs", "Connectivity graphs: a folder or a tar.", required=True, metavar="DIR|TAR")
@option("--distance", "Largest distance from the end of the first path to the start of the second, metres.", float, 3.0)
@option(
    "--heading",
    "Largest change of heading from the end of the first path to the start of the second, radians; no limit by "
    "default.",
    float,
)
@options.out("File to write, in the format of the released R4R; a name that ends in .gz is gzipped.", required=True)
def build(annotations: str, graphs: str, out: Path, **limits: Any) -> None:
    """Build R4R from R2R: two paths are joined if the second starts near the end of the first."""
    import gzip

    import msgspec

    from wayscore.distances.graphs import load_graphs
    from wayscore.lab.agents.r4r import build as join_paths, read_annotations
    from wayscore.writing import write_whole

    made = join_paths(read_annotations(annotations), load_graphs(graphs), **limits)
    content = msgspec.json.encode(made.paths)
    write_whole(out, gzip.compress(content, mtime=0) if out.suffix == ".gz" else content)
    for name, value in made.summary().items():
        say(f"{name:24} {value:12,.4f}" if isinstance(value, float) else f"{name:24} {value:12,}")


@verb(
    "wayscore figures --format pdf,png",
    "wayscore figures results.json --references R2R_val_unseen.json --graphs connectivity/ --which gallery",
)
@argument("run", "Result file; without one, worlds are generated.", required=False)
@options.references(required=False)
@options.data
@options.run_format
@options.convention
@options.threshold
@options.path_step
@figures_option(
    "--which",
    f"Figures to draw: {', '.join(WORLDS)}; of a run {' and '.join(OF_A_RUN)}; all by default.",
    multiple=True,
    callback=partial(words, known=WORLDS),
    metavar="NAMES",
)
@figures_option("--count", "Pairs of a gallery.", whole(1, 200), 24)
@figures_option(
    "--x",
    "Metrics of the horizontal axes of `metrics`.",
    default=["SR,NE,CLS"],
    multiple=True,
    callback=words,
    metavar="SYMBOLS",
)
@figures_option("--y", "Metric of the vertical axis of `metrics`.", default="nDTW", metavar="SYMBOL")
@figures_option("--seed", "Random seed of the generated worlds.", SEED, 0)
@output_option(
    "-f --format formats",
    "Formats of the files.",
    default=["pdf"],
    multiple=True,
    callback=partial(words, known=("pdf", "svg", "png")),
    metavar="pdf|svg|png",
)
@options.out("Folder to write to.", default=Path("figures"))
@options.up
@options.dpi
def figures(
    run: str | None,
    references: str | None,
    graphs: str | None,
    reader: dict[str, str],
    which: list[str] | None,
    count: int,
    x: list[str],
    y: str,
    seed: int,
    formats: list[str],
    out: Path,
    up: Any,
    dpi: int,
    **settings: Any,
) -> None:
    """Draw the paper's figures in generated worlds, or figures of a run, as files for papers with their captions.

    The same seed gives the same files, byte for byte.
    """
    from wayscore.figures.style import need_matplotlib, save

    names = which or list(WORLDS if run is None else OF_A_RUN)
    need_matplotlib()
    if run is None:
        if references is not None or graphs is not None:
            raise OptionError("--references and --graphs go with a run; name its result file too")
        from wayscore.figures import simulated

        draw: dict[str, Callable[[], Figure]] = {
            "warping": partial(simulated.figure_warping, seed),
            "comparison": partial(simulated.figure_comparison_set, seed),
            "gallery": partial(simulated.figure_gallery, seed, count),
            "matrix": partial(simulated.figure_matrix, seed),
            "metrics": partial(simulated.figure_walkers, seed, x=tuple(x), y=y),
        }
    else:
        if other := [name for name in names if name not in OF_A_RUN]:
            raise click.UsageError(must_be("--which of a run", OF_A_RUN, other[0]))
        if references is None:
            raise OptionError(f"{run}: to draw a run, give its references with --references FILE")
        from wayscore.evaluation.evaluator import evaluate
        from wayscore.figures.runs import figure_run_gallery, figure_run_metrics

        truth, distances = load(references, graphs, reader, settings["convention"])
        metrics = [*dict.fromkeys([*x, y, "nDTW"] if "metrics" in names else ["nDTW"])]
        result = evaluate(run, truth, distances, metrics=metrics, **POLICIES, **settings)
        left_out = [kind for kind in ("missing", "unknown", "node") if result.problems.counts.get(kind)]
        warn(f"{result.problems.sentence(kind, truth.name, len(truth.episodes))}; left out" for kind in left_out)
        draw = {
            "gallery": partial(figure_run_gallery, result, count=count, up=up),
            "metrics": partial(figure_run_metrics, result, x=x, y=y),
        }
    drawn = {name: draw[name]() for name in names}
    for name, figure in drawn.items():
        for form in formats:
            say(str(save(figure, out / f"{name}.{form}", dpi=dpi)))
        say(f"    {figure.get_label()}\n")
