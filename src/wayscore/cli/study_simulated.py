"""`wayscore study simulate`, `power` and `reproduce`: what simulated raters are good for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayscore.cli.score import progress_bar, show
from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.study.simulated import Temper

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


def _temper(noise: float, spread: float, lapse: float, careless: float) -> Temper:
    from wayscore.study.simulated import Temper

    return Temper(noise=noise, spread=spread, lapse=lapse, careless=careless)
