"""`wayscore figures`: the paper's figures in generated worlds, or figures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.cli.align import DpiOption, UpOption, check_up
from wayscore.cli.score import (
    ConventionOption,
    GraphsOption,
    ReaderOption,
    ResampleOption,
    ThresholdOption,
    reader_settings,
    sampled,
    warn,
)
from wayscore.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayscore.convention import Convention
    from wayscore.figures.paths import Up

WORLDS = ("warping", "comparison", "gallery", "matrix", "metrics")
"""What is drawn in generated worlds: the paper's three figures, its Algorithm 1, and nDTW against other metrics."""
OF_A_RUN = ("gallery", "metrics")
POLICIES = {"missing": "skip", "unknown": "skip", "duplicate": "keep", "start": "keep", "move": "keep", "node": "skip"}
"""Pictures are of what is there; what is left out is told."""


def figures(
    run: Annotated[
        Path | None, typer.Argument(help="A result file; without one, worlds are generated.", show_default=False)
    ] = None,
    which: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(WORLDS)}; of a run {' and '.join(OF_A_RUN)}. All by default."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("figures"),
    formats: Annotated[
        list[str] | None, typer.Option("--format", "-f", help="pdf (the default), svg or png; several allowed.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the worlds and the paths.")] = 0,
    dpi: DpiOption = 300,
    references: Annotated[
        Path | None, typer.Option("--references", "-r", help="What the run was asked for: R2R, R4R, RxR, NDH, ...")
    ] = None,
    graphs: GraphsOption = None,
    reader: ReaderOption = None,
    convention: ConventionOption = "paper",
    threshold: ThresholdOption = None,
    resample: ResampleOption = None,
    count: Annotated[int, typer.Option(min=1, max=200, help="How many pairs a gallery has.")] = 24,
    x: Annotated[str, typer.Option(help="What `metrics` draws --y against.")] = "SR,NE,CLS",
    y: Annotated[str, typer.Option(help="The metric of the vertical axis.")] = "nDTW",
    up: UpOption = None,
) -> None:
    """Draw the paper's figures in generated worlds, or figures of a run, as files for papers, with their captions.

    The same seed gives the same files, byte for byte.

    Example: wayscore figures --format pdf --format png
    Example: wayscore figures results.json --references R2R_val_unseen.json --graphs connectivity/ --which gallery

    Args:
        run: a result file; without one, worlds are generated.
        which: names of figures, one an option or separated by commas.
        out: a folder, made if need be.
        formats: pdf, svg or png, one an option or separated by commas.
        seed: makes the worlds and the paths.
        dpi: dots an inch, of .png files.
        references: what the run was asked for.
        graphs: connectivity files; not needed for paths of coordinates.
        reader: settings of the references' reader, each as name=value; can be given several times.
        convention: the set of choices to score the run by.
        threshold: success threshold, in the units of the distance.
        resample: warp paths of coordinates sampled anew at this step.
        count: how many pairs a gallery has.
        x: the metrics that `metrics` draws another against, separated by commas.
        y: that other one.
        up: the axis of coordinates that leads up, which maps look along.
    """
    from wayscore.figures.style import check_format, need_matplotlib, save

    names = _names(which, WORLDS if run is None else OF_A_RUN)
    forms = [check_format(form) for form in _split(formats) or ["pdf"]]
    need_matplotlib()
    across = tuple(symbol.strip() for symbol in x.split(","))
    if run is None:
        if references is not None or graphs is not None:
            raise OptionError("references and graphs go with a run; name its result file too")
        drawn = {name: _simulated(name, seed, count, across, y) for name in names}
    else:
        if references is None:
            raise OptionError(f"to draw {run.name}, say with --references FILE what it was asked for")
        drawn = _of_run(
            run,
            references,
            graphs,
            names=names,
            reader=reader_settings(reader),
            convention=sampled(convention, resample),
            threshold=threshold,
            count=count,
            x=across,
            y=y,
            up=check_up(up),
        )
    for name, figure in drawn.items():
        for form in forms:
            typer.echo(str(save(figure, out / f"{name}.{form}", dpi=dpi)))
        typer.echo(f"    {figure.get_label()}\n")


def _simulated(name: str, seed: int, count: int, x: tuple[str, ...], y: str) -> Figure:
    from wayscore.figures import simulated

    if name == "gallery":
        return simulated.figure_gallery(seed, count)
    if name == "metrics":
        return simulated.figure_walkers(seed, x=x, y=y)
    draw = {
        "warping": simulated.figure_warping,
        "comparison": simulated.figure_comparison_set,
        "matrix": simulated.figure_matrix,
    }
    return draw[name](seed)


def _of_run(
    run: Path,
    references: Path,
    graphs: Path | None,
    *,
    names: list[str],
    reader: dict[str, str],
    convention: str | Convention,
    threshold: float | None,
    count: int,
    x: tuple[str, ...],
    y: str,
    up: Up | None,
) -> dict[str, Figure]:
    from wayscore.episodes import describe
    from wayscore.evaluation.runs import score_runs
    from wayscore.figures.episode import drawable, up_in
    from wayscore.figures.runs import figure_run_gallery, figure_run_metrics
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for

    asked = load_references(references, **reader)
    scenes = drawable(distances_for(asked, graphs, convention), asked)
    metrics = [*x, y, "nDTW"] if "metrics" in names else ["nDTW"]
    scored = score_runs(
        [run],
        asked,
        graphs=scenes,
        convention=convention,
        threshold=threshold,
        metrics=metrics,
        policies=POLICIES,
    )[0]
    left_out = [kind for kind in ("missing", "unknown", "node") if scored.joined.problems[kind]]
    warn([f"{describe(kind, scored.joined.problems[kind], asked)}; left out" for kind in left_out])
    drawn = {}
    for name in names:
        if name == "gallery":
            drawn[name] = figure_run_gallery(
                scored, scenes, count=count, convention=convention, threshold=threshold, up=up or up_in(asked)
            )
        else:
            drawn[name] = figure_run_metrics(scored, x=x, y=y)
    return drawn


def _split(given: list[str] | None) -> list[str]:
    """Return words given one by one or with commas, each once."""
    return list(dict.fromkeys(word.strip() for words in given or () for word in words.split(",")))


def _names(which: list[str] | None, known: tuple[str, ...]) -> list[str]:
    names = _split(which) or list(known)
    for name in names:
        if name not in known:
            wanted = f"{name!r} of a run" if known == OF_A_RUN else repr(name)
            raise OptionError(f"there is no figure {wanted}{did_you_mean(name, known)} Known: {', '.join(known)}")
    return names
