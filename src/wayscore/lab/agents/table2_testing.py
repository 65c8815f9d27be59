"""The agents of Table 2 tested: run once on a validation split, each alone or all seeds together, and scored by cap."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayscore.formats.trajectories import encode_run
from wayscore.lab.agents.table2 import FOLLOWING, METRICS, Plan, data_file, lessons_for
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.episodes import References
    from wayscore.lab.agents.agent import Agent

CAPS = (10, 15, 20, 30)
"""Largest numbers of moves per episode; scores are by the last."""
TOGETHER = ("goal", "fidelity")
"""The agents whose seeds are also tested together, on the first dataset."""
PLANNED = {"r2r": ("imitation", *FOLLOWING), "r4r": ("continued", "goal", "fidelity")}
"""Dataset -> the agents that are also tested planning ahead, each seed alone."""
BEAM = 15
"""How many walks a planning agent imagines at once: more changed nothing in held-out houses."""
CHOSEN_BY = "SDTW"
"""In held-out houses, for what is chosen there."""


@dataclass(frozen=True)
class Trial:
    """A further test of trained agents.

    Attributes:
        name: of its folder.
        dataset: what they are tested on.
        agents: the trainings whose policies decide together.
        beam: how many walks are imagined at once; None if nothing is planned.
        after: the job that must be finished first; none, since all trainings are.
    """

    name: str
    dataset: str
    agents: tuple[str, ...]
    beam: int | None = None
    after: None = None


def trials(plan: Plan) -> list[Trial]:
    """Return all further tests: planning ahead, all seeds together, and both.

    >>> from pathlib import Path
    >>> [trial.name for trial in trials(Plan(Path("out"), seeds=2))][:2]
    ['worlds-goal-together', 'worlds-goal-together-planned']
    """
    found = []
    for dataset in plan.datasets:
        for agent in PLANNED.get(dataset, ()):
            seeds = zip(plan.folders(dataset, f"{agent}-planned"), plan.folders(dataset, agent), strict=True)
            found += [Trial(folder.name, dataset, (trained.name,), BEAM) for folder, trained in seeds]
    dataset = plan.datasets[0]
    for agent in TOGETHER:
        every = tuple(folder.name for folder in plan.folders(dataset, agent))
        found.append(Trial(f"{dataset}-{agent}-together", dataset, every))
        found.append(Trial(f"{dataset}-{agent}-together-planned", dataset, every, BEAM))
    return found


def run_trial(trial: Trial, plan: Plan) -> None:
    """Test trained agents once more, unless the scores are already saved.

    Several decide together; whether they also vote on the mirror image is decided in held-out houses.
    """
    from wayscore.lab.agents.agent import load_agent

    if (plan.out / trial.name / "scores.json").exists():
        return
    agent = load_agent(*(plan.out / name for name in trial.agents))
    held_out = _held_out(plan, trial, agent) if len(trial.agents) > 1 else {}
    mirror = bool(held_out) and held_out["with_mirror"][CHOSEN_BY] > held_out["without_mirror"][CHOSEN_BY]
    scores = score_agent(plan, trial.dataset, trial.name, agent, beam=trial.beam, mirror=mirror)
    trained = [json.loads((plan.out / name / "scores.json").read_text()) for name in trial.agents]
    scores["training_cpu_seconds"] = round(sum(one["training_cpu_seconds"] for one in trained), 1)
    scores |= {"held_out": held_out} if held_out else {}
    write_whole(plan.out / trial.name / "scores.json", json.dumps(scores, indent=1).encode())


def _held_out(plan: Plan, trial: Trial, agent: Agent) -> dict[str, Any]:
    """Return the scores in held-out houses, with mirror images and without."""
    from wayscore.lab.agents.rollout import means_of

    lessons = lessons_for(plan, trial.dataset, agent.vocabulary.known, agent.weights)
    return {
        f"{'with' if mirror else 'without'}_mirror": means_of(
            agent.walk(lessons.dev, lessons.sight, beam=trial.beam, mirror=mirror), agent.recipe.threshold
        )
        for mirror in (False, True)
    }


def score_agent(
    plan: Plan, dataset: str, name: str, agent: Agent, *, beam: int | None = None, mirror: bool = False
) -> dict[str, Any]:
    """Run an agent once on the validation split, save its trajectories as a result file, and score them by cap.

    Args:
        plan: the trainings and their data.
        dataset: what it is tested on.
        name: of its folder.
        agent: the agent.
        beam: how many walks it imagines at once; None if it does not plan.
        mirror: whether its policies also vote on the mirror image.
    """
    from wayscore.evaluation import evaluate
    from wayscore.lab.agents.houses import tasks_for

    started, recipe = time.process_time(), agent.recipe
    references, graphs = validation_data(plan, dataset)
    tasks, sight = tasks_for(
        references, graphs, agent.vocabulary, words=agent.words, views=plan.views, weights=agent.weights
    )
    labels = {str(node): node for graph in graphs.values() for node in graph.nodes} if dataset == "worlds" else {}
    paths = zip(tasks.names, agent.paths(tasks, sight, beam=beam, mirror=mirror), strict=True)
    walks = {episode: [labels.get(node, node) for node in path] for episode, path in paths}
    run = encode_run(walks)
    write_whole(plan.out / name / "run.json", run, folders=True)
    caps = {}
    for cap in (*(cap for cap in CAPS if cap < recipe.max_test_steps), recipe.max_test_steps):
        # What an agent does does not depend on the cap, so a smaller one only cuts its trajectory.
        cut = {episode: path[: cap + 1] for episode, path in walks.items()}
        result = evaluate(cut, references, graphs, threshold=recipe.threshold, metrics=METRICS, name=name)
        never = sum(len(path) > cap for path in walks.values()) / len(walks)
        caps[str(cap)] = {**result.means(), "never stopped": never}
    result.save(plan.out / name / "episodes.parquet")
    return {
        "means": result.means(),
        "caps": caps,
        "run_sha256": hashlib.sha256(run).hexdigest(),
        "test_cpu_seconds": round(time.process_time() - started, 1),
    }


def validation_data(plan: Plan, dataset: str) -> tuple[References, Any]:
    """Return the episodes that agents are tested on, and their graphs."""
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for
    from wayscore.lab.agents.houses import world_test

    if dataset == "worlds":
        return world_test()
    references = load_references(data_file(plan, dataset, "val_unseen"))
    return references, distances_for(references, plan.graphs)


def random_row(plan: Plan, dataset: str, walks: int = 1_000_000) -> dict[str, float]:
    """Return the means of the random agent on a validation split."""
    from wayscore.lab.agents.baselines import score_random
    from wayscore.rewards.tasks import WORLD_THRESHOLD

    made = dataset == "worlds"
    threshold, count = (WORLD_THRESHOLD, walks // 10) if made else (3.0, walks)
    table = score_random(*validation_data(plan, dataset), walks=count, threshold=threshold, metrics=list(METRICS))
    return {metric: mean for metric, mean in table.means().items() if mean is not None}
