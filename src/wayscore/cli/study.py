"""`wayscore study`: the paper's questionnaire, from its design to Table 1, with people or simulated raters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from wayscore.cli import options
from wayscore.cli.app import FILE, SEED, Verbs, argument, option, together, verb, whole
from wayscore.cli.options import check_figure, draw, statistics_option
from wayscore.cli.output import progress, say, show
from wayscore.cli.study_serve import beside, erase, export, relink, serve, study_file
from wayscore.errors import OptionError

agents_option = partial(option, section="Paths of agents")
raters_option = partial(option, section="Simulated raters")
kind_option = option("--kind", "Unconstrained (UC) or success-constrained (SC).", ["UC", "SC"], "UC", metavar="[UC|SC]")
seed_option = option("--seed", "Random seed.", SEED, 0)
sampler_option = partial(
    option,
    "--sampler",
    kind=["near", "start", "independent"],
    text="How queries are drawn: near the reference, where paths resemble each other and judgements count most; by the "
    "paper's procedure from the reference's start; or independent of it, as the paper describes.",
)
temper_options = together(
    raters_option(
        "--taste",
        "What they like: to follow the path, cover it, arrive soon, never stray, or stay on it in any order.",
        ["faithful", "covering", "arriving", "careful", "orderless"],
        "faithful",
    ),
    raters_option("--noise", "Noise of their judgement; with 0 they make no errors.", float, 0.5),
    raters_option("--spread", "How much their preferences differ.", float, 0.4),
    raters_option("--lapse", "Share of sets that they rank at random.", float, 0.02),
)


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
@argument("more", "More runs, after --from-runs.", FILE, nargs=-1, metavar="[RUN]...")
@kind_option
@option("--sets", "Number of sets, each with one reference and five queries.", whole(1, 100_000), 60)
@option("--raters", "Number of raters, who share the sets.", whole(1, 100_000), 9)
@option("--each", "Number of raters who see each set.", whole(1, 10_000), 1)
@option("--repeats", "Number of sets that each rater sees twice, to measure consistency.", whole(0, 100_000), 0)
@option(
    "--checks",
    "Number of sets with an obvious answer that every rater sees, to measure attention.",
    whole(0, 100_000),
    0,
)
@option(
    "--success", "In SC: all five queries of a set succeed, or two to four of them (mixed).", ["all", "mixed"], "all"
)
@option("--ties", "Allow raters to give several queries the same rank.", bool)
@seed_option
@option("--name", "Name of the study on pages and in tables.", default="", show_default=False)
@option("--question", "Question to the raters; that of the paper by default.")
@option("--worlds", "Number of generated worlds.", whole(1, 10_000), 10, section="Generated paths")
@sampler_option(default="near")
@agents_option(
    "--from-runs", "Runs of five agents or more, whose paths become the queries.", FILE, multiple=True, metavar="RUN..."
)
@options.references(required=False)
@options.graphs
@agents_option("--threshold", "Success threshold d_th for --from-runs, metres; 3 by default.", float)
@option("--again", "Recreate this study from its saved design.", FILE, metavar="STUDY")
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
    out: Path,
    **settings: Any,
) -> None:
    """Create a study: sets of one reference and five queries, and the order in which each rater sees them.

    A reference is a ground-truth path; queries are trajectories of agents, or generated. The same options always give
    the same file, byte for byte. The file also stores its options.
    """
    from wayscore.lab.study.create import create as create_study, create_from_runs, rebuild
    from wayscore.lab.study.files import read_study, write_study
    from wayscore.report.layout import counted

    if settings["question"] is None:
        del settings["question"]
    if more and not from_runs:
        raise OptionError(f"{more[0]} is not expected here; give runs after --from-runs")
    if again is not None:
        made = rebuild(read_study(again))
    elif from_runs:
        if references is None or graphs is None:
            raise OptionError("--from-runs also needs --references FILE and --graphs FOLDER or TAR")
        runs = [*from_runs, *more]
        made = create_from_runs(runs, references=Path(references), graphs=Path(graphs), threshold=threshold, **settings)
    else:
        if references is not None or graphs is not None or threshold is not None:
            raise OptionError("--references, --graphs and --threshold can only be used with --from-runs")
        made = create_study(worlds=worlds, sampler=sampler, **settings)
    write_study(out, made)
    loads = sorted({len(one.items) for one in made.assignments})
    sets = {"set": made.of_kind("plain"), "repeat": made.of_kind("repeat"), "check": made.of_kind("check")}
    parts = ", ".join(counted(len(found), what) for what, found in sets.items() if found)
    pages = f"{loads[0]}" if len(loads) == 1 else f"{loads[0]} to {loads[-1]}"
    people = f"{counted(len(made.assignments), 'rater')} with {pages} page{'' if loads == [1] else 's'} each"
    say(f"{out}: {made.kind}, {parts} in {counted(len(made.scenes), 'scene')}, {people}")


@verb("wayscore study analyze uc.json uc.jsonl sc.json sc.jsonl --html analysis.html", "wayscore study analyze --paper")
@argument(
    "files",
    "A study and its answers; for two studies, STUDY ANSWERS STUDY ANSWERS.",
    FILE,
    nargs=-1,
    metavar="[STUDY ANSWERS]...",
)
@option("--paper", "Print Table 1 of the paper, from the counts in the paper.", bool)
@statistics_option(
    "--method",
    "Correlation of a metric with a rater; kendall is tau-b, pearson uses the metric's values.",
    ["spearman", "kendall", "pearson"],
    "spearman",
)
@statistics_option(
    "--undirected", "Use NE, ONE, AD, MD and PL as if higher were better, without a change of sign.", bool
)
@statistics_option(
    "--pass-share",
    "Raters who pass a smaller share of their checks are left out of a second table.",
    float,
    2 / 3,
    show_default="2/3",
)
@statistics_option(
    "--seconds-per-picture",
    "Answers that took less, times five pictures, are counted as too fast and left out of a third table.",
    float,
    1.0,
)
@options.resamples
@options.seed
@options.form("text", "json", "latex")
@options.html
@options.figure
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
    from wayscore.lab.study import table1
    from wayscore.report.document import Document

    if paper:
        rows = {
            one.rival: {"positive": one.positive, "negative": one.negative, "p": one.p}
            | {"printed": table1.PAPER_P[one.rival]}
            for contests in table1.PAPER.values()
            for one in contests
        }
        show(Document([*table1.tables(table1.PAPER), table1.SLIP], data=[rows]).render, form)
        return
    check_figure(figure)
    if not files or len(files) % 2:
        raise OptionError(f"give a study and its answers (STUDY ANSWERS), or two such pairs; files given: {len(files)}")
    from wayscore.lab.study.analysis import analyze as analyze_answers
    from wayscore.lab.study.figures import figure_study
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
    draw(figure, figure_study, analyses)
    show(document(analyses).render, form)


@verb("wayscore study simulate uc.json --seed 1")
@study_file
@seed_option
@temper_options
@raters_option("--careless", "Share of raters who rank everything at random.", float, 0.0)
@options.out("File to write; <study>-simulated.jsonl by default.")
def simulate(file: Path, seed: int, out: Path | None, **temper: Any) -> None:
    """Let simulated raters answer a study, to test and plan it; every answer is marked as simulated."""
    from wayscore.lab.study.files import read_study
    from wayscore.lab.study.rankings import write_rankings
    from wayscore.lab.study.rater_models import Temper, simulate as draw

    rankings = draw(read_study(file), seed=seed, temper=Temper(**temper))
    out = out or beside(file, "-simulated.jsonl")
    write_rankings(out, rankings)
    say(f"{out}: {len(rankings):,} rankings by SIMULATED raters")


@verb("wayscore study power --kind SC --target 0.9", "wayscore study power --pilot pilot.json pilot.jsonl")
@kind_option
@option("--sets", "Number of sets to try; may be repeated.", whole(1, 100_000), multiple=True)
@option("--each", "Number of raters who see each set.", whole(1, 10_000), 1)
@option("--per-rater", "Number of sets that one rater ranks.", whole(1, 100_000), 30)
@option("--target", "Power to reach: the share of studies that find a difference.", float, 0.8)
@option("--alpha", "Significance level of the two-sided sign test.", float, 0.05)
@option("--simulations", "Number of simulated studies of each size.", whole(1, 1_000_000), 1000)
@option(
    "--pilot",
    "A pilot study whose answers are resampled, instead of simulated raters.",
    (FILE, FILE),
    metavar="STUDY ANSWERS",
)
@seed_option
@temper_options
@options.form("text", "json")
def power(kind: Any, sets: tuple[int, ...], pilot: tuple[Path, Path] | None, form: str, **settings: Any) -> None:
    """Estimate how many sets and raters a study needs, with simulated raters or from a pilot study."""
    from wayscore.lab.study import power as powers
    from wayscore.lab.study.rater_models import Temper

    source, named, simulated = None, f"{powers.SIMULATED} (taste: {settings['taste']})", True
    if pilot is not None:
        from wayscore.lab.study.files import read_study
        from wayscore.lab.study.rankings import read_rankings

        study = read_study(pilot[0])
        rankings = read_rankings(pilot[1], study)
        kind, source, named = study.kind, powers.pilot_source(study, rankings), pilot[1].name
        simulated = any(ranking.simulated for ranking in rankings)
    sizes = list(sets) or powers.SIZES
    settings |= {"source": source, "named": named, "simulated": simulated, "sizes": sizes}
    settings["temper"] = Temper(**{name: settings.pop(name) for name in ("taste", "noise", "spread", "lapse")})
    with progress(len(sizes)) as tell:
        found = powers.power(kind, progress=tell, **settings)
    show(powers.document(found).render, form)


@verb("wayscore study reproduce --seed 1")
@sampler_option(default="independent")
@seed_option
@temper_options
@options.out("Folder to write to.", default=Path("study-simulated"))
def reproduce(sampler: Any, seed: int, out: Path, **temper: Any) -> None:
    """Repeat the paper's study with simulated raters: 505 sets, 2,525 samples, nine raters, Table 1.

    The outcome follows from the taste of simulated raters, so a table shows which metric wins with which taste.
    """
    from wayscore.lab.study.protocol import STEPS, reproduce as carry_out
    from wayscore.lab.study.rater_models import Temper

    with progress(STEPS) as tell:
        found = carry_out(out, seed=seed, sampler=sampler, temper=Temper(**temper), progress=tell)
    show(found.render)
    say(f"All files are in {out}.")


for command in (create, serve, relink, export, erase, simulate, analyze, power, reproduce):
    study.add_command(command)
