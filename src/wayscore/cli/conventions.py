"""`wayscore conventions`: the list, one in full, or what two of them do differently, also to a run."""

from __future__ import annotations

import click

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import load
from wayscore.cli.output import say, show


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
        from wayscore.evaluation.effects import effects

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
