"""`wayscore rollout`: the trajectories of a trained agent, as a result file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wayscore.cli import options
from wayscore.cli.inputs import load
from wayscore.cli.options import FILE
from wayscore.cli.output import say
from wayscore.cli.verb import argument, option, verb, whole
from wayscore.errors import OptionError


@verb(
    "wayscore rollout runs/fidelity --references R2R_val_unseen.json --graphs connectivity/ -o run.json",
    "wayscore rollout runs/seed-0 runs/seed-1 -r R2R_val_unseen.json -g connectivity/ -o run.json",
)
@argument(
    "agents",
    type=FILE,
    nargs=-1,
    required=True,
    metavar="AGENT...",
    help="Folders of trained agents, written by `wayscore train`; several agents decide together.",
)
@options.references()
@options.data
@options.views
@options.instruction_words
@option("--max-episode-steps", type=whole(1, 100_000), help="Largest number of moves per episode; by default 30.")
@options.out("Result file to write.", required=True)
def rollout(
    agents: Sequence[Path],
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    views: Path | None,
    words: int,
    max_episode_steps: int | None,
    out: Path,
) -> None:
    """Run a trained agent on every episode and write its trajectories as a result file, in the format of R2R.

    Several agents decide together: at each step they take the action that has the largest product of their
    probabilities. They must know the same words, as seeds of one training do.
    """
    from dataclasses import replace

    import msgspec

    from wayscore.navigation.need import need_torch

    need_torch()
    from wayscore.navigation.ensemble import greedy_together
    from wayscore.navigation.houses import tasks_for
    from wayscore.navigation.rollout import greedy, load_policy

    loaded = [load_policy(agent) for agent in agents]
    policies, (policy, recipe, vocabulary, weights) = [policy for policy, *_ in loaded], loaded[0]
    for agent, (other, _, words_known, other_weights) in zip(agents, loaded, strict=True):
        if other.shape.seen != (views is not None):
            raise OptionError(
                f"{agent}: was trained {'with' if other.shape.seen else 'without'} views; "
                f"{'give them with --views TAR' if other.shape.seen else 'leave --views out'}"
            )
        if (words_known.known, other_weights) != (vocabulary.known, weights):
            raise OptionError(f"{agent}: knows other words than {agents[0]}; give agents that were trained on one file")
    tasks, sight = tasks_for(*load(references, graphs, reader), vocabulary, words=words, views=views, weights=weights)
    recipe = recipe if max_episode_steps is None else replace(recipe, max_test_steps=max_episode_steps)
    alone = len(policies) == 1
    walked = greedy(policy, tasks, recipe, sight) if alone else greedy_together(policies, tasks, recipe, sight)
    paths = [path for walkers in walked for path in walkers.paths()]
    run = [
        {"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in path]}
        for name, path in zip(tasks.names, paths, strict=True)
    ]
    from wayscore.writing import write_whole

    write_whole(out, msgspec.json.encode(run))
    say(f"{out}: {len(run)} trajectories")
