"""`wayscore align`: one episode's warping, as a table and as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayscore.cli.score import (
    ConventionOption,
    GraphsOption,
    ReaderOption,
    ReferencesOption,
    ResampleOption,
    ThresholdOption,
    reader_settings,
    sampled,
    show,
)

if TYPE_CHECKING:
    from wayscore.figures import WarpedEpisode

UpOption = Annotated[
    str | None, typer.Option(help="The axis of coordinates that leads up, z or y; y in VLN-CE's files, else z.")
]
DpiOption = Annotated[int, typer.Option(min=1, help="Dots an inch of .png files.")]


def align(
    run: Annotated[Path, typer.Argument(help="A result file.", show_default=False)],
    episode: Annotated[str, typer.Argument(help="The episode's name, such as 4332_1.", show_default=False)],
    references: ReferencesOption,
    graphs: GraphsOption = None,
    reader: ReaderOption = None,
    convention: ConventionOption = "paper",
    threshold: ThresholdOption = None,
    resample: ResampleOption = None,
    out: Annotated[Path | None, typer.Option(help="Draw it too: a .pdf, .svg or .png file.")] = None,
    up: UpOption = None,
    dpi: DpiOption = 300,
) -> None:
    """Show how one episode's query is warped to its reference: pair by pair, with distances and accumulated costs.

    With --out, the matrix of accumulated costs and the warping through it are drawn beside a map of both paths.

    Example: wayscore align results.json 4332_1 --references R2R_val_unseen.json --graphs connectivity/ --out align.pdf

    Args:
        run: a result file.
        episode: the episode's name.
        references: what was asked for.
        graphs: connectivity files; not needed for paths of coordinates.
        reader: settings of the references' reader, each as name=value; can be given several times.
        convention: the set of choices to warp by; `wayscore conventions` lists them.
        threshold: success threshold, in the units of the distance.
        resample: warp paths of coordinates sampled anew at this step.
        out: where to draw it; needs matplotlib.
        up: the axis of coordinates that leads up, which maps look along.
        dpi: dots an inch, of .png files.
    """
    from wayscore.figures.episode import drawable, find_episode, unit_in, up_in, warp_episode
    from wayscore.formats import load_references, load_run
    from wayscore.formats.graphs import distances_for

    if out is not None:
        from wayscore.figures.style import check_format, need_matplotlib

        check_format(out.suffix.removeprefix("."))
        need_matplotlib()
    axis = check_up(up)
    asked, done = load_references(references, **reader_settings(reader)), load_run(run)
    pair = find_episode(episode, done, asked)
    rules = sampled(convention, resample)
    scenes = drawable(distances_for(asked, graphs, rules), asked)
    one = warp_episode(*pair, scenes, convention=rules, threshold=threshold, unit=unit_in(asked))
    show(lambda width, color: as_text(one, width=width, color=color))
    if out is not None:
        from wayscore.figures.runs import figure_alignment
        from wayscore.figures.style import save

        save(figure_alignment(one, up=axis or up_in(asked)), out, dpi=dpi)
        typer.echo(f"\n{out}")


def as_text(one: WarpedEpisode, *, width: int | None = None, color: bool = False) -> str:
    """Return a warping as a table, a row a pair, with its DTW and nDTW below."""
    from wayscore.report.layout import console_for, plain_table, printed

    console = console_for(width, color)
    console.print(f"Episode {one.episode} in {one.scene}", markup=False)
    if one.instruction:
        console.print(f"“{' '.join(one.instruction.split())}”", markup=False)
    console.print()
    table = plain_table()
    for head in ("pair", "i", "reference", "j", "query", f"d ({one.unit})", f"sum ({one.unit})"):
        table.add_column(head, justify="left" if head in ("reference", "query") else "right", no_wrap=True)
    for number, (i, j, distance, total) in enumerate(one.steps(), start=1):
        row = (number, i, _place(one.reference[i - 1]), j, _place(one.query[j - 1]), f"{distance:.2f}", f"{total:.2f}")
        table.add_row(*map(str, row))
    console.print(table)
    console.print()
    numbers = f"DTW {one.alignment.cost:.4f} {one.unit}, nDTW {one.ndtw:.4f}"
    size = f"|R| = {len(one.reference)}, |Q| = {len(one.query)}"
    settings = f"threshold {one.threshold:g} {one.unit}, convention {one.convention}"
    console.print(f"{numbers} ({size}, {settings})", markup=False, soft_wrap=True)
    return printed(console)


def check_up(up: str | None) -> Any:
    """Return an axis that leads up, or None for that of the files."""
    from wayscore.errors import OptionError

    if up not in (None, "y", "z"):
        raise OptionError(f"--up must be z (Matterport3D) or y (Habitat), got {up!r}")
    return up


def _place(place: Any) -> str:
    if isinstance(place, str):
        return place
    coordinates = place.tolist() if hasattr(place, "tolist") else place
    return f"({', '.join(f'{x:.2f}' for x in coordinates)})" if isinstance(coordinates, list) else str(coordinates)
