"""`wayscore study`: the paper's questionnaire with people, from its design to Table 1."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from wayscore.cli.score import GraphsOption, show
from wayscore.cli.study_serve import export, serve
from wayscore.cli.study_simulated import KindOption, MethodOption, SeedOption, power, reproduce, simulate
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.study.model import Study

Function = TypeVar("Function", bound=Callable[..., None])

study = typer.Typer(name="study", add_completion=False)


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
verb(simulate)


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


verb(power)
verb(reproduce)


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


def _described(made: Study) -> str:
    from wayscore.report.layout import counted

    loads = sorted({len(one.items) for one in made.assignments})
    kinds = ((made.of_kind("plain"), "set"), (made.of_kind("repeat"), "repeat"), (made.of_kind("check"), "check"))
    parts = ", ".join(counted(len(found), what) for found, what in kinds if found)
    pages = f"{loads[0]}" if len(loads) == 1 else f"{loads[0]} to {loads[-1]}"
    people = f"{counted(len(made.assignments), 'rater')} with {pages} each"
    return f"{made.kind}, {parts} in {counted(len(made.scenes), 'scene')}, {people}"
