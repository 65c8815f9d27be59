"""`wayscore build`: datasets that are built from other datasets."""

from __future__ import annotations

from pathlib import Path

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import OneOf
from wayscore.cli.output import say


@verb("wayscore build r4r R2R_val_unseen.json --graphs connectivity/ -o R4R_val_unseen.json")
@argument("dataset", type=OneOf(["r4r"]), metavar="r4r", help="Dataset to build.")
@argument("annotations", help="R2R annotations: any split that contains paths.")
@option("-g", "--graphs", required=True, metavar="DIR|TAR", help="Connectivity graphs: a folder or a tar.")
@option(
    "--distance",
    type=float,
    default=3.0,
    help="Largest distance from the end of the first path to the start of the second, metres.",
)
@option(
    "--heading",
    type=float,
    help="Largest change of heading from the end of the first path to the start of the second, radians; no limit by "
    "default.",
)
@options.out("File to write, in the format of the released R4R; a name that ends in .gz is gzipped.", required=True)
def build(
    dataset: str,  # noqa: ARG001 - there is one
    annotations: str,
    graphs: str,
    distance: float,
    heading: float | None,
    out: Path,
) -> None:
    """Build R4R from R2R: two paths are joined if the second starts near the end of the first."""
    import gzip

    import msgspec

    from wayscore.distances.graphs import load_graphs
    from wayscore.lab.agents.r4r import build as join_paths, read_annotations

    made = join_paths(read_annotations(annotations), load_graphs(graphs), distance=distance, heading=heading)
    content = msgspec.json.encode(made.paths)
    from wayscore.writing import write_whole

    write_whole(out, gzip.compress(content, mtime=0) if out.suffix == ".gz" else content)
    for name, value in made.summary().items():
        say(f"{name:24} {value:12,.4f}" if isinstance(value, float) else f"{name:24} {value:12,}")
