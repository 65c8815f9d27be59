"""`wayscore study`: the paper's questionnaire with people, from its design to Table 1."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from wayscore.cli.score import GraphsOption, progress_bar, show
from wayscore.cli.study_serve import export, serve
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.study.model import Study
    from wayscore.study.simulated import Temper

Function = TypeVar("Function", bound=Callable[..., None])

study = typer.Typer(name="study", add_completion=False)

KindOption = Annotated[str, typer.Option(help="UC, unconstrained, or SC, success-constrained.")]
SeedOption = Annotated[int, typer.Option(help="Of all draws.")]
StudyArgument = Annotated[Path, typer.Argument(help="A study's file.", show_default=False)]
MethodOption = Annotated[str, typer.Option(help="spearman, kendall (tau-b) or pearson (values with ranks).")]
NoiseOption = Annotated[float, typer.Option(help="Of simulated raters: 0 never errs.")]
SpreadOption = Annotated[float, typer.Option(help="How much simulated raters' tastes differ.")]
LapseOption = Annotated[float, typer.Option(help="The share of sets that simulated raters do not look at.")]
ThroughWebOption = Annotated[
    bool, typer.Option("--through-web", help="Rehearse: let them answer the web pages of a server of its own.")
]


@study.callback(invoke_without_command=True)
def about(context: typer.Context) -> None:
    """Ask people which paths they prefer, and which metric agrees with them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def verb(function: Function) -> Function:
    """Make a function a verb of `wayscore study`; its help is its docstring without the arguments."""
    told = (inspect.getdoc(function) or "").split("\n\nArgs:")[0]
    study.command(function.__name__, help=told)(function)
    return function


@verb
def create(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUNS]...", help="Further runs, after --from-runs.", hidden=True)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; .gz is gzipped.")] = Path("study.json"),
    kind: KindOption = "UC",
    sets: Annotated[int | None, typer.Option(help="Sets of five queries; 60 by default.")] = None,
    raters: Annotated[int, typer.Option(help="Raters who share the sets.")] = 9,
    each: Annotated[int, typer.Option(help="Raters who see each set.")] = 1,
    repeats: Annotated[int, typer.Option(help="Sets that each rater sees twice, for consistency.")] = 0,
    checks: Annotated[int, typer.Option(help="Sets with an obvious answer, for attention.")] = 0,
    seed: SeedOption = 0,
    worlds: Annotated[int, typer.Option(help="Generated worlds.")] = 10,
    sampler: Annotated[
        str, typer.Option(help="Queries: near the reference, the paper's from its start, or independent.")
    ] = "near",
    success: Annotated[str, typer.Option(help="Of SC: all five queries succeed, or two to four (mixed).")] = "all",
    ties: Annotated[bool, typer.Option("--ties", help="Let raters put several queries in one place.")] = False,
    name: Annotated[str, typer.Option(help="What pages and tables call the study.")] = "",
    question: Annotated[str | None, typer.Option(help="What raters are asked; the paper's question.")] = None,
    from_runs: Annotated[
        list[Path] | None, typer.Option(help="Five runs or more of real agents: --from-runs a.json b.json ...")
    ] = None,
    references: Annotated[
        Path | None, typer.Option("--references", "-r", help="What the runs were asked for: R2R, R4R, RxR, ...")
    ] = None,
    graphs: GraphsOption = None,
    threshold: Annotated[float | None, typer.Option(help="d_th of runs, metres; 3 by default.")] = None,
    again: Annotated[Path | None, typer.Option(help="Make this study anew from what it tells of itself.")] = None,
) -> None:
    """Make a study: comparison sets of one reference and five queries, and who sees them in which order.

    The same options give the same file, byte for byte, and the file tells them.

    Example, one of the paper's two studies: wayscore study create --kind UC --sets 265 --raters 9 -o uc.json

    Example: wayscore study create --from-runs a.json b.json c.json d.json e.json -r R2R_val_unseen.json -g graphs/

    Args:
        more: further runs.
        out: the file to write.
        kind: UC or SC.
        sets: how many sets.
        raters: how many raters share them.
        each: how many raters see each set.
        repeats: how many of their sets each rater sees twice.
        checks: how many sets with an obvious answer every rater sees.
        seed: of all draws.
        worlds: how many generated worlds the sets are spread over.
        sampler: near, start or independent.
        success: all or mixed.
        ties: whether raters may put several queries in one place.
        name: what pages and tables call the study.
        question: what raters are asked.
        from_runs: runs of five agents or more, whose paths become the queries.
        references: what the runs were asked for.
        graphs: connectivity files.
        threshold: success threshold of runs.
        again: a study to make anew.
    """
    from wayscore.study.design import QUESTION, read_study, rebuild, write_study
    from wayscore.study.design import create as create_study

    options: dict[str, Any] = {
        "kind": kind,
        "sets": 60 if sets is None else sets,
        "raters": raters,
        "each": each,
        "repeats": repeats,
        "checks": checks,
        "seed": seed,
        "success": success,
        "ties": ties,
        "name": name,
        "question": QUESTION if question is None else question,
    }
    if more and not from_runs:
        raise OptionError(f"{more[0]} is not expected here; runs follow --from-runs")
    if again is not None:
        made = rebuild(read_study(again))
    elif from_runs:
        if references is None or graphs is None:
            raise OptionError("a study from runs needs --references FILE and --graphs FOLDER or TAR")
        from wayscore.study.from_runs import create_from_runs

        runs = [*from_runs, *(more or ())]
        made = create_from_runs(runs, references=references, graphs=graphs, threshold=threshold, **options)
    else:
        if references is not None or graphs is not None or threshold is not None:
            raise OptionError("--references, --graphs and --threshold go with --from-runs")
        made = create_study(worlds=worlds, sampler=sampler, **options)  # type: ignore[arg-type]
    write_study(out, made)
    typer.echo(f"{out}: {_described(made)}")


verb(serve)
verb(export)


@verb
def simulate(
    file: StudyArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; <study>-simulated.jsonl by default.")
    ] = None,
    seed: SeedOption = 0,
    noise: NoiseOption = 0.5,
    spread: SpreadOption = 0.4,
    lapse: LapseOption = 0.02,
    careless: Annotated[float, typer.Option(help="The share of simulated raters who never look.")] = 0.0,
    through_web: ThroughWebOption = False,
) -> None:
    """Let simulated raters rank a study, to test and to plan; no person gives these rankings, and each says so.

    Args:
        file: the study.
        out: the file to write.
        seed: of all draws.
        noise: of Plackett and Luce.
        spread: of the logarithm of raters' weights.
        lapse: the share of sets ranked by chance.
        careless: the share of raters who rank everything by chance.
        through_web: let them answer over HTTP, and write what the server exports.
    """
    from wayscore.study.design import read_study
    from wayscore.study.protocol import ask
    from wayscore.study.rankings import write_rankings

    rankings = ask(read_study(file), seed=seed, temper=_temper(noise, spread, lapse, careless), through_web=through_web)
    out = out or file.with_name(f"{file.name.removesuffix('.gz').removesuffix('.json')}-simulated.jsonl")
    write_rankings(out, rankings)
    typer.echo(f"{out}: {len(rankings):,} rankings by SIMULATED raters")


@verb
def analyze(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="STUDY ANSWERS; of both studies: UC.json UC.jsonl SC.json SC.jsonl.", show_default=False),
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="Table 1 from the counts that the paper prints.")] = False,
    method: MethodOption = "spearman",
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Take NE, ONE, AD, MD and PL as they are, as if more were better.")
    ] = False,
    pass_share: Annotated[float, typer.Option(help="Raters who pass less of their checks are inattentive.")] = 2 / 3,
    form: Annotated[str, typer.Option("--format", "-f", help="text, json or latex.")] = "text",
    html: Annotated[Path | None, typer.Option("--html", help="Write a page too.")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="Draw it too: .pdf, .svg or .png.")] = None,
    seed: Annotated[int, typer.Option(help="Of all resampling.")] = 0,
    resamples: Annotated[int, typer.Option(help="How often to resample.")] = 10_000,
) -> None:
    """Print Table 1 of a study's answers, with effect sizes, agreement, consistency, attention and a mixed model.

    Example: wayscore study analyze uc.json uc.jsonl sc.json sc.jsonl --html analysis.html

    Args:
        files: a study and its answers, or both studies and the answers to each.
        paper: print the paper's Table 1 from its counts instead.
        method: spearman, kendall or pearson.
        undirected: take metrics as they are, also those of which less is better.
        pass_share: raters who pass a smaller share of their checks are left out of a second table.
        form: text, json or latex.
        html: where to write a page, one file that needs no network.
        figure: where to draw it.
        seed: of all resampling.
        resamples: of the bootstrap and of the randomization test.
    """
    from wayscore.study.report import check_form, render

    check_form(form)
    if paper:
        _show_paper(form)
        return
    if not files or len(files) % 2:
        raise OptionError(f"give a study and its answers, or two of each in turn; got {len(files or ())} files")
    from wayscore.study.analysis import analyze as analyze_answers
    from wayscore.study.design import read_study
    from wayscore.study.rankings import read_rankings
    from wayscore.study.report import tables

    analyses = []
    for file, answers in zip(files[::2], files[1::2], strict=True):
        asked = read_study(file)
        found = analyze_answers(
            asked,
            read_rankings(answers, asked),
            method=method,  # type: ignore[arg-type]
            directed=not undirected,
            pass_share=pass_share,
            seed=seed,
            resamples=resamples,
        )
        analyses.append(found)
    tables(analyses)  # refuses two of one kind before anything is written
    if html is not None:
        from wayscore.study.files import write_bytes
        from wayscore.study.page import page

        write_bytes(html, page(analyses).encode())
    if figure is not None:
        from wayscore.figures.style import save
        from wayscore.study.figures import figure_study

        save(figure_study(analyses), figure)
    show(lambda width, color: render(analyses, form, width=width, color=color))


@verb
def power(
    kind: KindOption = "UC",
    sets: Annotated[list[int] | None, typer.Option(help="Numbers of sets to try; can be given several times.")] = None,
    each: Annotated[int, typer.Option(help="Raters who see each set.")] = 1,
    per_rater: Annotated[int, typer.Option(help="Sets that one rater ranks.")] = 30,
    target: Annotated[float, typer.Option(help="The share of studies that should find a difference.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Of the two-sided sign test.")] = 0.05,
    simulations: Annotated[int, typer.Option(help="Studies of each size.")] = 1000,
    seed: SeedOption = 0,
    noise: NoiseOption = 0.5,
    spread: SpreadOption = 0.4,
    lapse: LapseOption = 0.02,
    pilot: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="STUDY ANSWERS of people, to draw from.", show_default=False),
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
) -> None:
    """Say how many sets and raters a study needs, from many studies with simulated raters or from a pilot.

    Example: wayscore study power --kind SC --target 0.9

    Example: wayscore study power --pilot pilot.json pilot.jsonl

    Args:
        kind: UC or SC; a pilot's own.
        sets: numbers of sets to try.
        each: how many raters rank each set.
        per_rater: how many sets one rater ranks.
        target: the share of studies that should find a difference.
        alpha: below which a p-value finds one.
        simulations: how many studies of each size.
        seed: of all draws.
        noise: of simulated raters.
        spread: of simulated raters' tastes.
        lapse: the share of sets that simulated raters do not look at.
        pilot: a study and its answers.
        form: text or json.
    """
    if form not in ("text", "json"):
        raise OptionError(f"--format is text or json, got {form!r}")
    from wayscore.study import power as powers
    from wayscore.study.design import check_options

    source, named, simulated = None, powers.SIMULATED, True
    if pilot is not None:
        from wayscore.study.design import read_study
        from wayscore.study.rankings import read_rankings

        asked = read_study(pilot[0])
        rankings = read_rankings(pilot[1], asked)
        kind, source, named = asked.kind, powers.pilot_source(asked, rankings), pilot[1].name
        simulated = any(ranking.simulated for ranking in rankings)
    check_options(kind=kind, success="all", sets=1, seed=seed)
    sizes = sets or powers.SIZES
    with progress_bar(len(sizes)) as progress:
        found = powers.power(
            kind,  # type: ignore[arg-type]
            source=source,
            named=named,
            simulated=simulated,
            sizes=sizes,
            each=each,
            per_rater=per_rater,
            target=target,
            alpha=alpha,
            simulations=simulations,
            seed=seed,
            temper=_temper(noise, spread, lapse, 0.0),
            progress=progress,
        )
    if form == "json":
        import json
        from dataclasses import asdict

        typer.echo(json.dumps(asdict(found)))
    else:
        typer.echo(powers.text(found), nl=False)


@verb
def reproduce(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.")] = Path("study-simulated"),
    seed: SeedOption = 0,
    sampler: Annotated[str, typer.Option(help="How queries are drawn: near, start or independent.")] = "near",
    noise: NoiseOption = 0.5,
    spread: SpreadOption = 0.4,
    lapse: LapseOption = 0.02,
    through_web: ThroughWebOption = False,
) -> None:
    """Carry out the paper's protocol with simulated raters: 505 sets, 2,525 samples, nine raters, Table 1.

    Example, every answer sent over HTTP: wayscore study reproduce --seed 1 --through-web

    Args:
        out: the folder of everything that is made.
        seed: of all draws; the same seed gives the same files.
        sampler: near, start or independent.
        noise: of simulated raters.
        spread: of simulated raters' tastes.
        lapse: the share of sets that simulated raters do not look at.
        through_web: let them answer over HTTP, and analyze what the server exports.
    """
    from wayscore.study.protocol import KINDS
    from wayscore.study.protocol import reproduce as carry_out

    with progress_bar(3 * len(KINDS) + 1) as progress:
        made = carry_out(
            out,
            seed=seed,
            sampler=sampler,  # type: ignore[arg-type]
            temper=_temper(noise, spread, lapse, 0.0),
            through_web=through_web,
            progress=progress,
        )
    show(lambda width, _: made.text(width))
    if through_web:
        given = sum(one.rankings for one in made.analyses)
        typer.echo(f"All {given:,} answers were sent by the web pages' own forms, and exported by the server.")
    typer.echo(f"Everything is in {out}.")


def _show_paper(form: str) -> None:
    from wayscore.study import table1
    from wayscore.study.report import table1_text

    if form == "json":
        import json

        rows = {
            contest.rival: {
                "positive": contest.positive,
                "negative": contest.negative,
                "p": contest.p,
                "printed": table1.PAPER_P[contest.rival],
            }
            for found in table1.PAPER.values()
            for contest in found
        }
        typer.echo(json.dumps(rows))
    elif form == "latex":
        typer.echo(f"{table1.latex(table1.PAPER)}% {table1.SLIP}")
    else:
        from textwrap import fill

        show(lambda width, _: f"{table1_text(table1.PAPER, width)}\n{fill(table1.SLIP, width)}\n")


def _temper(noise: float, spread: float, lapse: float, careless: float) -> Temper:
    from wayscore.study.simulated import Temper

    return Temper(noise=noise, spread=spread, lapse=lapse, careless=careless)


def _described(made: Study) -> str:
    from wayscore.report.layout import counted

    loads = sorted({len(one.items) for one in made.assignments})
    kinds = ((made.of_kind("plain"), "set"), (made.of_kind("repeat"), "repeat"), (made.of_kind("check"), "check"))
    parts = ", ".join(counted(len(found), what) for found, what in kinds if found)
    pages = f"{loads[0]}" if len(loads) == 1 else f"{loads[0]} to {loads[-1]}"
    people = f"{counted(len(made.assignments), 'rater')} with {pages} each"
    return f"{made.kind}, {parts} in {counted(len(made.scenes), 'scene')}, {people}"
