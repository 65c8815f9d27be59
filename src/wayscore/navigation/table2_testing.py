"""The agents of Table 2 tested: run once on a validation split, each alone or all seeds together, and scored by cap."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from wayscore.navigation.table2 import METRICS, TRAINED_ON, Plan, data_file, lessons_for
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.episodes import References
    from wayscore.navigation.recipe import Recipe
    from wayscore.navigation.sight import Sight, WordWeights
    from wayscore.navigation.tasks import Tasks
    from wayscore.navigation.words import Vocabulary

CAPS = (10, 15, 20, 30)
"""Largest numbers of moves per episode; scores are by the last."""
TOGETHER = ("goal", "fidelity")
"""The agents whose seeds are also tested together."""
CHOSEN_BY = "SDTW"
"""In held-out houses, for what is chosen there."""


def score_agent(
    plan: Plan,
    dataset: str,
    name: str,
    recipe: Recipe,
    vocabulary: Vocabulary,
    weights: WordWeights | None,
    walk: Callable[[Tasks, Sight | None], list[list[str]]],
) -> dict[str, Any]:
    """Run an agent once on the validation split, save its trajectories as a result file, and score them by cap.

    Args:
        plan: the trainings and their data.
        dataset: what it is tested on.
        name: of its folder.
        recipe: the settings of its training.
        vocabulary: the words that it knows.
        weights: how informative seen words are, as it learned them.
        walk: returns its paths.
    """
    from wayscore.evaluation import evaluate
    from wayscore.navigation.houses import tasks_for

    started = time.process_time()
    references, graphs = validation_data(plan, dataset)
    tasks, sight = tasks_for(
        references, graphs, vocabulary, words=TRAINED_ON[dataset], views=plan.views, weights=weights
    )
    labels = {str(node): node for graph in graphs.values() for node in graph.nodes} if dataset == "worlds" else {}
    paths = zip(tasks.names, walk(tasks, sight), strict=True)
    walks = {episode: [labels.get(node, node) for node in path] for episode, path in paths}
    run = msgspec.json.encode(
        [{"instr_id": episode, "trajectory": [[str(node), 0, 0] for node in path]} for episode, path in walks.items()]
    )
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


def score_together(plan: Plan, dataset: str, agent: str) -> None:
    """Test all seeds of an agent as one, which decide together; with their mirror images if held-out houses say so."""
    from wayscore.navigation.ensemble import greedy_together
    from wayscore.navigation.rollout import load_policy, means_of

    name, folders = f"{dataset}-{agent}-together", plan.folders(dataset, agent)
    if (plan.out / name / "scores.json").exists():
        return
    loaded = [load_policy(folder) for folder in folders]
    policies, (_, recipe, vocabulary, weights) = [policy for policy, *_ in loaded], loaded[0]
    lessons = lessons_for(plan, dataset, vocabulary.known, weights)
    held_out: dict[bool, Any] = {
        mirror: means_of(greedy_together(policies, lessons.dev, recipe, lessons.sight, mirror=mirror), recipe.threshold)
        for mirror in (False, True)
    }
    mirror = max(held_out, key=lambda mirror: held_out[mirror][CHOSEN_BY])

    def walk(tasks: Tasks, sight: Sight | None) -> list[list[str]]:
        walked = greedy_together(policies, tasks, recipe, sight, mirror=mirror)
        return [path for walkers in walked for path in walkers.paths()]

    scores = score_agent(plan, dataset, name, recipe, vocabulary, weights, walk)
    trained = [json.loads((folder / "scores.json").read_text()) for folder in folders]
    scores["training_cpu_seconds"] = round(sum(one["training_cpu_seconds"] for one in trained), 1)
    scores["held_out"] = {"without_mirror": held_out[False], "with_mirror": held_out[True]}
    write_whole(plan.out / name / "scores.json", json.dumps(scores, indent=1).encode())


def validation_data(plan: Plan, dataset: str) -> tuple[References, Any]:
    """Return the episodes that agents are tested on, and their graphs."""
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for
    from wayscore.navigation.houses import world_test

    if dataset == "worlds":
        return world_test()
    references = load_references(data_file(plan, dataset, "val_unseen"))
    return references, distances_for(references, plan.graphs)


def random_row(plan: Plan, dataset: str, walks: int = 1_000_000) -> dict[str, float]:
    """Return the means of the random agent on a validation split."""
    from wayscore.navigation.baselines import score_random
    from wayscore.navigation.tasks import WORLD_THRESHOLD

    made = dataset == "worlds"
    threshold, count = (WORLD_THRESHOLD, walks // 10) if made else (3.0, walks)
    table = score_random(*validation_data(plan, dataset), walks=count, threshold=threshold, metrics=list(METRICS))
    return {metric: mean for metric, mean in table.means().items() if mean is not None}
