"""`wayscore build`: datasets made from others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wayscore.errors import OptionError


def build(
    what: Annotated[str, typer.Argument(help="r4r.", show_default=False)],
    annotations: Annotated[Path, typer.Argument(help="R2R annotations, any split with paths.", show_default=False)],
    graphs: Annotated[Path, typer.Option("--graphs", "-g", help="Connectivity files: a folder or a tar of them.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; .gz is gzipped.")],
    distance: Annotated[float, typer.Option(help="How far the second path may start from the first's end, m.")] = 3.0,
    heading: Annotated[
        float | None, typer.Option(help="How much the second may head elsewhere, radians; any by default.")
    ] = None,
) -> None:
    """Build R4R from R2R: paths joined wherever one ends near the start of another.

    Example: wayscore build r4r R2R_val_unseen.json --graphs connectivity/ -o R4R_val_unseen.json

    Args:
        what: r4r.
        annotations: R2R annotations, any split with paths.
        graphs: connectivity files.
        out: the file to write, in the format of the released R4R.
        distance: how far the second path may start from the end of the first, metres along the graph.
        heading: how much the second path's first heading may differ from the first's last move, radians.
    """
    import gzip

    import msgspec

    from wayscore.distances.matterport import load_graphs
    from wayscore.navigation.r4r import build as join_paths
    from wayscore.navigation.r4r import read_annotations

    if what != "r4r":
        raise OptionError(f"there is no recipe for {what!r}; known: r4r")
    made = join_paths(read_annotations(annotations), load_graphs(graphs), distance=distance, heading=heading)
    content = msgspec.json.encode(made.paths)
    try:
        out.write_bytes(gzip.compress(content, mtime=0) if out.suffix == ".gz" else content)
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror or error}; choose another place") from None
    for name, value in made.summary().items():
        typer.echo(f"{name:24} {value:12,.4f}" if isinstance(value, float) else f"{name:24} {value:12,}")
