"""`wayscore rollout`: the trajectories of a trained agent, as a result file."""

from __future__ import annotations

from pathlib import Path

from wayscore.cli import options
from wayscore.cli.inputs import load
from wayscore.cli.options import FILE
from wayscore.cli.output import say
from wayscore.cli.verb import argument, option, verb, whole
from wayscore.errors import OptionError


@verb("wayscore rollout runs/fidelity --references R2R_val_unseen.json --graphs connectivity/ -o run.json")
@argument("agent", type=FILE, help="Folder of a trained agent, written by `wayscore train`.")
@options.references()
@options.data
@options.views
@options.instruction_words
@option("--max-episode-steps", type=whole(1, 100_000), help="Largest number of moves per episode; by default 30.")
@options.out("Result file to write.", required=True)
def rollout(
    agent: Path,
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    views: Path | None,
    words: int,
    max_episode_steps: int | None,
    out: Path,
) -> None:
    """Run a trained agent on every episode and write its trajectories as a result file, in the format of R2R."""
    from dataclasses import replace

    import msgspec

    from wayscore.navigation.need import need_torch

    need_torch()
    from wayscore.navigation.houses import tasks_for
    from wayscore.navigation.rollout import load_policy, walk_all

    policy, recipe, vocabulary, weights = load_policy(agent)
    if policy.shape.seen != (views is not None):
        raise OptionError(
            f"{agent}: was trained {'with' if policy.shape.seen else 'without'} views; "
            f"{'give them with --views TAR' if policy.shape.seen else 'leave --views out'}"
        )
    tasks, sight = tasks_for(*load(references, graphs, reader), vocabulary, words=words, views=views, weights=weights)
    recipe = recipe if max_episode_steps is None else replace(recipe, max_test_steps=max_episode_steps)
    paths = walk_all(policy, tasks, recipe, sight)
    run = [
        {"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in path]}
        for name, path in zip(tasks.names, paths, strict=True)
    ]
    from wayscore.writing import write_whole

    write_whole(out, msgspec.json.encode(run))
    say(f"{out}: {len(run)} trajectories")
