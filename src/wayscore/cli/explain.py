"""`wayscore align` and `conventions`: how a score comes about, in one episode and by the choices of an evaluator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import check_figure, load
from wayscore.cli.output import say, show

if TYPE_CHECKING:
    from wayscore.figures import WarpedEpisode
    from wayscore.report.document import Document


@verb("wayscore align results.json 4332_1 --references R2R_val_unseen.json --graphs connectivity/ -o align.pdf")
@argument("run", "Result file.")
@argument("episode", "Name of the episode, such as 4332_1.")
@options.references()
@options.data
@options.run_format
@options.convention
@options.threshold
@options.path_step
@options.out("Also draw the warping: a .pdf, .svg or .png file.")
@options.up
@options.dpi
def align(
    run: str,
    episode: str,
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    run_format: str | None,
    convention: str | None,
    threshold: float | None,
    path_step: float | None,
    out: Path | None,
    up: Any,
    dpi: int,
) -> None:
    """Show how one episode's query (your agent's trajectory) is warped to its reference, pair by pair.

    Each row has a pair, its distance and the accumulated cost. --out draws the matrix of accumulated costs and the
    warping through it beside a map of both paths.
    """
    from wayscore.convention.presets import find_convention
    from wayscore.figures.episode import drawable, find_episode, unit_in, up_in, warp_episode
    from wayscore.formats import load_run

    check_figure(out)
    rules = convention if path_step is None else replace(find_convention(convention), path_step=path_step)
    truth, distances = load(references, graphs, reader, rules)
    pair = find_episode(episode, load_run(run, run_format), truth)
    units: dict[str, Any] = {"threshold": threshold, "unit": unit_in(truth), "up_axis": truth.up_axis}
    one = warp_episode(*pair, drawable(distances, truth), convention=rules, **units)
    show(document(one).render)
    if out is not None:
        from wayscore.figures.runs import figure_alignment
        from wayscore.figures.style import save

        save(figure_alignment(one, up=up or up_in(truth)), out, dpi=dpi)
        say(f"\n{out}")


def document(one: WarpedEpisode) -> Document:
    """Return a warping as a table, one row per pair, with its DTW and nDTW below."""
    from wayscore.report.document import Document, Line, Table

    def shown(node: Any) -> str:
        coordinates = node.tolist() if hasattr(node, "tolist") else node
        return f"({', '.join(f'{x:.2f}' for x in coordinates)})" if isinstance(coordinates, list) else str(coordinates)

    rows = [
        [str(number), str(i), shown(one.reference[i - 1]), str(j), shown(one.query[j - 1]), f"{d:.2f}", f"{total:.2f}"]
        for number, (i, j, d, total) in enumerate(one.steps(), start=1)
    ]
    heads = ("pair", "i", "reference", "j", "query", f"d ({one.unit})", f"sum ({one.unit})")
    numbers = f"DTW {one.alignment.cost:.4f} {one.unit}, nDTW {one.ndtw:.4f}"
    size = f"|R| = {len(one.reference)}, |Q| = {len(one.query)}"
    return Document(
        [
            Line(f"Episode {one.episode} in {one.scene}", "bold"),
            *([f"“{' '.join(one.instruction.split())}”"] if one.instruction else []),
            Table(heads, rows, left=5),
            f"{numbers} ({size}, threshold {one.threshold:g} {one.unit}, convention {one.convention})",
        ]
    )


@verb(
    "wayscore conventions",
    "wayscore conventions --diff duet paper --run results.json -r R2R_val_unseen.json -g connectivity/",
)
@argument("name", "Convention to print in full: a name, or a .toml file.", required=False)
@option("--diff", "Print what two conventions do differently.", nargs=2, metavar="A B")
@option("--run", "With --diff: only the choices that change a number of this run.", metavar="RUN", section="Data")
@options.references(required=False)
@options.data
@options.metrics
@options.form("text", "json", text="Format of the output; json has one object per convention and line.")
def conventions(
    name: str | None,
    diff: tuple[str, str] | None,
    run: str | None,
    references: str | None,
    graphs: str | None,
    reader: dict[str, str],
    metrics: list[str] | None,
    form: str,
) -> None:
    """List the conventions that runs can be scored by, print one in full, or show what two of them do differently.

    A convention is every choice of an evaluator that changes a number: how success is decided, what SPL divides by,
    which paths are warped, and more. One in full names the repository and commit that it follows, how it is proven,
    its columns with that program's names, and what cannot be matched.
    """
    from wayscore.convention.presets import CONVENTIONS, find_convention

    if run is not None and (diff is None or references is None):
        raise click.UsageError("--run needs --diff A B and --references FILE")
    if diff is not None and form == "json":
        raise click.UsageError("--diff prints text only; print both conventions with --format json and compare them")
    if diff is not None:
        from wayscore.report.conventions import differences, effects_document

        first, second = map(find_convention, diff)
        words = differences(first, second)
        if run is None or references is None:
            say("\n".join(words.values()) or f"{first.name} and {second.name} make the same choices")
            return
        from wayscore.evaluation.comparison import effects

        truth, distances = load(references, graphs, reader, first if first.distance == "directed hops" else second)
        found = effects(run, truth, first, second, graphs=distances, metrics=metrics)
        show(effects_document(found, words).render)
    elif form == "json":
        import json

        from wayscore.report.conventions import to_dict

        for convention in CONVENTIONS.values() if name is None else [find_convention(name)]:
            say(json.dumps(to_dict(convention)))
    elif name is not None:
        from wayscore.report.conventions import describe

        for heading, lines in describe(find_convention(name)).items():
            say("\n".join([f"\n{heading}:", *(f"  {line}" for line in lines)] if heading else lines))
    else:
        width = max(map(len, CONVENTIONS))
        for convention in CONVENTIONS.values():
            say(f"{convention.name:{width}}  {convention.about}")
