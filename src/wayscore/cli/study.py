"""`wayscore study`: the paper's questionnaire with people, from its design to Table 1."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wayscore.cli import options
from wayscore.cli.app import Verbs, argument, option, verb, whole
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import say, show
from wayscore.cli.study_serve import erase, export, relink, serve
from wayscore.cli.study_simulated import kind_option, power, reproduce, sampler_option, seed_option, simulate
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.lab.study.model import Study


agents_option = partial(option, section="Paths of agents")
statistics_option = partial(option, section="Statistics")


@click.group(cls=Verbs, invoke_without_command=True)
@click.pass_context
def study(context: click.Context) -> None:
    """Ask people which paths they prefer, and find the metric that agrees with them.

    First create a study and serve its web pages, then export and analyze the answers. Simulated raters help to plan
    and test a study. A query is the trajectory of an agent, a reference is the ground-truth path.
    """
    if context.invoked_subcommand is None:
        say(context.get_help())


@verb(
    "wayscore study create --kind UC --sets 265 --raters 9 -o uc.json",
    "wayscore study create --from-runs a.json b.json c.json d.json e.json -r R2R_val_unseen.json -g connectivity/",
)
@argument("more", nargs=-1, type=FILE, metavar="[RUN]...", help="More runs, after --from-runs.")
@kind_option
@option("--sets", type=whole(1, 100_000), default=60, help="Number of sets, each with one reference and five queries.")
@option("--raters", type=whole(1, 100_000), default=9, help="Number of raters, who share the sets.")
@option("--each", type=whole(1, 10_000), default=1, help="Number of raters who see each set.")
@option(
    "--repeats",
    type=whole(0, 100_000),
    default=0,
    help="Number of sets that each rater sees twice, to measure consistency.",
)
@option(
    "--checks",
    type=whole(0, 100_000),
    default=0,
    help="Number of sets with an obvious answer that every rater sees, to measure attention.",
)
@option(
    "--success",
    type=OneOf(["all", "mixed"]),
    default="all",
    help="In SC: all five queries of a set succeed, or two to four of them (mixed).",
)
@option("--ties", is_flag=True, help="Allow raters to give several queries the same rank.")
@seed_option
@option("--name", default="", show_default=False, help="Name of the study on pages and in tables.")
@option("--question", help="Question to the raters; that of the paper by default.")
@option("--worlds", type=whole(1, 10_000), default=10, section="Generated paths", help="Number of generated worlds.")
@sampler_option
@agents_option(
    "--from-runs",
    type=FILE,
    multiple=True,
    metavar="RUN...",
    help="Runs of five agents or more, whose paths become the queries.",
)
@options.references(required=False)
@options.graphs
@agents_option("--threshold", type=float, help="Success threshold d_th for --from-runs, metres; 3 by default.")
@option("--again", type=FILE, metavar="STUDY", help="Recreate this study from its saved design.")
@options.out("File to write; a name that ends in .gz is gzipped.", default=Path("study.json"))
def create(
    more: tuple[Path, ...],
    from_runs: tuple[Path, ...],
    references: str | None,
    graphs: str | None,
    threshold: float | None,
    again: Path | None,
    worlds: int,
    sampler: Any,
    question: str | None,
    out: Path,
    **settings: Any,
) -> None:
    """Create a study: sets of one reference and five queries, and the order in which each rater sees them.

    A reference is a ground-truth path; queries are trajectories of agents, or generated. The same options always give
    the same file, byte for byte. The file also stores its options.
    """
    from wayscore.lab.study.create import create as create_study, rebuild
    from wayscore.lab.study.files import read_study, write_study
    from wayscore.lab.study.model import QUESTION

    settings["question"] = QUESTION if question is None else question
    if more and not from_runs:
        raise OptionError(f"{more[0]} is not expected here; give runs after --from-runs")
    if again is not None:
        made = rebuild(read_study(again))
    elif from_runs:
        if references is None or graphs is None:
            raise OptionError("--from-runs also needs --references FILE and --graphs FOLDER or TAR")
        from wayscore.lab.study.create import create_from_runs

        runs = [*from_runs, *more]
        made = create_from_runs(runs, references=Path(references), graphs=Path(graphs), threshold=threshold, **settings)
    else:
        if references is not None or graphs is not None or threshold is not None:
            raise OptionError("--references, --graphs and --threshold can only be used with --from-runs")
        made = create_study(worlds=worlds, sampler=sampler, **settings)
    write_study(out, made)
    say(f"{out}: {_described(made)}")


@verb("wayscore study analyze uc.json uc.jsonl sc.json sc.jsonl --html analysis.html", "wayscore study analyze --paper")
@argument(
    "files",
    nargs=-1,
    type=FILE,
    metavar="[STUDY ANSWERS]...",
    help="A study and its answers; for two studies, STUDY ANSWERS STUDY ANSWERS.",
)
@option("--paper", is_flag=True, help="Print Table 1 of the paper, from the counts in the paper.")
@statistics_option(
    "--method",
    type=OneOf(["spearman", "kendall", "pearson"]),
    default="spearman",
    help="Correlation of a metric with a rater; kendall is tau-b, pearson uses the metric's values.",
)
@statistics_option(
    "--undirected", is_flag=True, help="Use NE, ONE, AD, MD and PL as if higher were better, without a change of sign."
)
@statistics_option(
    "--pass-share",
    type=float,
    default=2 / 3,
    show_default="2/3",
    help="Raters who pass a smaller share of their checks are left out of a second table.",
)
@statistics_option(
    "--seconds-per-picture",
    type=float,
    default=1.0,
    help="Answers that took less, times five pictures, are counted as too fast and left out of a third table.",
)
@options.resamples
@options.seed
@options.form("text", "json", "latex")
@options.html
@option(
    "--figure", type=FILE, metavar="FILE", section="Output", help="Also draw the results: a .pdf, .svg or .png file."
)
def analyze(
    files: tuple[Path, ...],
    paper: bool,
    undirected: bool,
    form: str,
    html: Path | None,
    figure: Path | None,
    **settings: Any,
) -> None:
    """Analyze the answers to a study: Table 1, effect sizes, agreement, consistency and attention."""
    if paper:
        _show_paper(form)
        return
    if not files or len(files) % 2:
        raise OptionError(f"give a study and its answers (STUDY ANSWERS), or two such pairs; files given: {len(files)}")
    from wayscore.lab.study.analysis import analyze as analyze_answers
    from wayscore.lab.study.files import read_study
    from wayscore.lab.study.rankings import read_rankings
    from wayscore.lab.study.report import document, page, tables

    analyses = []
    for file, answers in zip(files[::2], files[1::2], strict=True):
        made = read_study(file)
        analyses.append(analyze_answers(made, read_rankings(answers, made), directed=not undirected, **settings))
    tables(analyses)  # refuses two of one kind before anything is written
    if html is not None:
        from wayscore.lab.study.files import write_bytes

        write_bytes(html, page(analyses).encode())
    if figure is not None:
        from wayscore.figures.style import save
        from wayscore.lab.study.figures import figure_study

        save(figure_study(analyses), figure)
    show(document(analyses).render, form)


for command in (create, serve, relink, export, erase, simulate, analyze, power, reproduce):
    study.add_command(command)


def _show_paper(form: str) -> None:
    from wayscore.lab.study import table1
    from wayscore.report.document import Document

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
    show(Document([*table1.tables(table1.PAPER), table1.SLIP], data=[rows]).render, form)


def _described(made: Study) -> str:
    from wayscore.report.layout import counted

    loads = sorted({len(one.items) for one in made.assignments})
    kinds = ((made.of_kind("plain"), "set"), (made.of_kind("repeat"), "repeat"), (made.of_kind("check"), "check"))
    parts = ", ".join(counted(len(found), what) for found, what in kinds if found)
    pages = f"{loads[0]}" if len(loads) == 1 else f"{loads[0]} to {loads[-1]}"
    people = f"{counted(len(made.assignments), 'rater')} with {pages} page{'' if loads == [1] else 's'} each"
    return f"{made.kind}, {parts} in {counted(len(made.scenes), 'scene')}, {people}"
