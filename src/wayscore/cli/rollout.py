"""`wayscore rollout`: the trajectories of a trained agent, as a result file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb, whole
from wayscore.cli.options import FILE, load
from wayscore.cli.output import say
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
@option("--max-episode-steps", type=whole(1, 100_000), help="Largest number of moves per episode; by default 30.")
@option(
    "--beam",
    type=whole(1, 100),
    help="Plan ahead: imagine this many walks at once and take the likeliest (beam search), in a house that is known.",
)
@option("--mirror", is_flag=True, help="Agents also decide about the mirror image of what they read and see.")
@options.out("Result file to write.", required=True)
def rollout(
    agents: Sequence[Path],
    references: str,
    graphs: str | None,
    reader: dict[str, str],
    views: Path | None,
    max_episode_steps: int | None,
    beam: int | None,
    mirror: bool,
    out: Path,
) -> None:
    """Run a trained agent on every episode and write its trajectories as a result file, in the format of R2R.

    Several agents decide together: at each step they take the action that has the largest product of their
    probabilities. They must read the same words, as seeds of one training do.

    With --beam, an agent looks ahead along the graph before it walks, and walks less. Report it: an agent that knows
    the house cannot be compared with one that explores it.
    """
    from dataclasses import replace

    from wayscore.formats.trajectories import encode_run
    from wayscore.lab.agents.checkpoints import need_torch

    need_torch()
    from wayscore.lab.agents.agent import load_agent
    from wayscore.lab.agents.data import tasks_for
    from wayscore.writing import write_whole

    agent = load_agent(*agents)
    for folder, policy in zip(agents, agent.policies, strict=True):
        if policy.shape.seen != (views is not None):
            raise OptionError(
                f"{folder}: was trained {'with' if policy.shape.seen else 'without'} views; "
                f"{'give them with --views TAR' if policy.shape.seen else 'leave --views out'}"
            )
    if max_episode_steps is not None:
        agent = replace(agent, recipe=replace(agent.recipe, max_test_steps=max_episode_steps))
    data = load(references, graphs, reader)
    tasks, sight = tasks_for(*data, agent.vocabulary, words=agent.words, views=views, weights=agent.weights)
    paths = dict(zip(tasks.names, agent.paths(tasks, sight, beam=beam, mirror=mirror), strict=True))
    write_whole(out, encode_run(paths))
    say(f"{out}: {len(paths)} trajectories")
