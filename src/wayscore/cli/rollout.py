"""`wayscore rollout`: a trained agent walks, and its walks become a result file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wayscore.cli.score import GraphsOption, ReferencesOption
from wayscore.errors import OptionError


def rollout(
    agent: Annotated[Path, typer.Argument(help="A folder that `wayscore train` left.", show_default=False)],
    references: ReferencesOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="The result file to write.")],
    graphs: GraphsOption = None,
    views: Annotated[Path | None, typer.Option(help="Captions and detections of the views, a tar.")] = None,
    words: Annotated[int, typer.Option(help="Words of an instruction that are read.")] = 80,
    most_steps: Annotated[int | None, typer.Option(help="Moves at most; as in training by default.")] = None,
) -> None:
    """Let a trained agent walk every episode and write its walks in the R2R result format.

    Example: wayscore rollout runs/fidelity --references R2R_val_unseen.json --graphs connectivity/ -o run.json

    Args:
        agent: a folder that `wayscore train` left.
        references: what is asked for.
        out: the result file to write.
        graphs: connectivity files.
        views: captions and detections of the views, for agents that were trained with them.
        words: words of an instruction that are read.
        most_steps: moves that an episode has at most.
    """
    from dataclasses import replace

    import msgspec

    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for
    from wayscore.navigation.need import need_torch

    need_torch()
    from wayscore.navigation.houses import tasks_for
    from wayscore.navigation.training import load_policy, walk_all

    policy, recipe, vocabulary = load_policy(agent)
    if policy.shape.seen != (views is not None):
        raise OptionError(
            f"{agent}: was trained {'with' if policy.shape.seen else 'without'} views; "
            f"{'give them with --views TAR' if policy.shape.seen else 'leave --views out'}"
        )
    asked = load_references(references)
    tasks, sight = tasks_for(asked, distances_for(asked, graphs), vocabulary, words=words, views=views)
    recipe = recipe if most_steps is None else replace(recipe, most_steps=most_steps)
    paths = walk_all(policy, tasks, recipe, sight)
    run = [
        {"instr_id": name, "trajectory": [[place, 0.0, 0.0] for place in path]}
        for name, path in zip(tasks.names, paths, strict=True)
    ]
    try:
        out.write_bytes(msgspec.json.encode(run))
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror or error}; choose another place") from None
    typer.echo(f"{out}: {len(run)} walks")
