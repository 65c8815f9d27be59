"""`wayscore study simulate`, `power` and `reproduce`: studies with simulated raters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayscore.cli import options
from wayscore.cli.app import SEED, option, together, verb, whole
from wayscore.cli.options import FILE, OneOf
from wayscore.cli.output import progress, say, show
from wayscore.cli.study_serve import beside, study_file

if TYPE_CHECKING:
    from wayscore.lab.study.rater_models import Temper

raters_option = partial(option, section="Simulated raters")

KIND_HELP = "Unconstrained (UC) or success-constrained (SC)."
kind_option = option("--kind", type=OneOf(["UC", "SC"]), default="UC", metavar="[UC|SC]", help=KIND_HELP)
seed_option = option("--seed", type=SEED, default=0, help="Random seed.")
SAMPLER_HELP = (
    "How queries are drawn: near the reference, where paths resemble each other and judgements count most; by the "
    "paper's procedure from the reference's start; or independent of it, as the paper describes."
)
sampler_option = option("--sampler", type=OneOf(["near", "start", "independent"]), default="near", help=SAMPLER_HELP)
papers_sampler_option = option(
    "--sampler", type=OneOf(["near", "start", "independent"]), default="independent", help=SAMPLER_HELP
)
temper_options = together(
    raters_option(
        "--taste",
        type=OneOf(["faithful", "covering", "arriving", "careful", "orderless"]),
        default="faithful",
        help="What they like: to follow the path, cover it, arrive soon, never stray, or stay on it in any order.",
    ),
    raters_option("--noise", type=float, default=0.5, help="Noise of their judgement; with 0 they make no errors."),
    raters_option("--spread", type=float, default=0.4, help="How much their preferences differ."),
    raters_option("--lapse", type=float, default=0.02, help="Share of sets that they rank at random."),
)


@verb("wayscore study simulate uc.json --seed 1")
@study_file
@seed_option
@temper_options
@raters_option("--careless", type=float, default=0.0, help="Share of raters who rank everything at random.")
@options.out("File to write; <study>-simulated.jsonl by default.")
def simulate(file: Path, seed: int, out: Path | None, **temper: Any) -> None:
    """Let simulated raters answer a study, to test and plan it; every answer is marked as simulated."""
    from wayscore.lab.study.files import read_study
    from wayscore.lab.study.rankings import write_rankings
    from wayscore.lab.study.rater_models import simulate as draw

    rankings = draw(read_study(file), seed=seed, temper=_temper(**temper))
    out = out or beside(file, "-simulated.jsonl")
    write_rankings(out, rankings)
    say(f"{out}: {len(rankings):,} rankings by SIMULATED raters")


@verb("wayscore study power --kind SC --target 0.9", "wayscore study power --pilot pilot.json pilot.jsonl")
@kind_option
@option("--sets", type=whole(1, 100_000), multiple=True, help="Number of sets to try; may be repeated.")
@option("--each", type=whole(1, 10_000), default=1, help="Number of raters who see each set.")
@option("--per-rater", type=whole(1, 100_000), default=30, help="Number of sets that one rater ranks.")
@option("--target", type=float, default=0.8, help="Power to reach: the share of studies that find a difference.")
@option("--alpha", type=float, default=0.05, help="Significance level of the two-sided sign test.")
@option("--simulations", type=whole(1, 1_000_000), default=1000, help="Number of simulated studies of each size.")
@option(
    "--pilot",
    type=(FILE, FILE),
    metavar="STUDY ANSWERS",
    help="A pilot study whose answers are resampled, instead of simulated raters.",
)
@seed_option
@temper_options
@options.form("text", "json")
def power(
    kind: Any, sets: tuple[int, ...], pilot: tuple[Path, Path] | None, seed: int, form: str, **settings: Any
) -> None:
    """Estimate how many sets and raters a study needs, with simulated raters or from a pilot study."""
    from wayscore.lab.study import power as powers
    from wayscore.lab.study.create import check_options

    source, named, simulated = None, f"{powers.SIMULATED} (taste: {settings['taste']})", True
    if pilot is not None:
        from wayscore.lab.study.files import read_study
        from wayscore.lab.study.rankings import read_rankings

        study = read_study(pilot[0])
        rankings = read_rankings(pilot[1], study)
        kind, source, named = study.kind, powers.pilot_source(study, rankings), pilot[1].name
        simulated = any(ranking.simulated for ranking in rankings)
    check_options(kind=kind, success="all", sets=1, seed=seed)
    temper = _temper(*(settings.pop(name) for name in ("taste", "noise", "spread", "lapse")))
    sizes = list(sets) or powers.SIZES
    with progress(len(sizes)) as tell:
        found = powers.power(
            kind,
            source=source,
            named=named,
            simulated=simulated,
            sizes=sizes,
            seed=seed,
            temper=temper,
            progress=tell,
            **settings,
        )
    show(powers.document(found).render, form)


@verb("wayscore study reproduce --seed 1")
@papers_sampler_option
@seed_option
@temper_options
@options.out("Folder to write to.", default=Path("study-simulated"))
def reproduce(sampler: Any, seed: int, out: Path, **temper: Any) -> None:
    """Repeat the paper's study with simulated raters: 505 sets, 2,525 samples, nine raters, Table 1.

    The outcome follows from the taste of simulated raters, so a table shows which metric wins with which taste.
    """
    from wayscore.lab.study.protocol import STEPS, reproduce as carry_out

    with progress(STEPS) as tell:
        made = carry_out(out, seed=seed, sampler=sampler, temper=_temper(**temper), progress=tell)
    show(made.document().render)
    say(f"All files are in {out}.")


def _temper(taste: str, noise: float, spread: float, lapse: float, careless: float = 0.0) -> Temper:
    from wayscore.lab.study.rater_models import Temper

    return Temper(taste=taste, noise=noise, spread=spread, lapse=lapse, careless=careless)
