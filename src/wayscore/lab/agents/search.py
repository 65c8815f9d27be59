"""Searches of settings: the same for every reward; and agents trained without one ingredient, for ablations.

Every reward gets the same settings to try, the same number of updates for each, and the same agent to start from.
The setting with the largest SDTW in the held-out houses is chosen; validation splits are not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayscore.lab.agents.checkpoints import CHECKPOINT
from wayscore.lab.agents.table2 import CHOSEN_BY, FOLLOWING, Job, Plan, recipe_of, trainer_of
from wayscore.report.document import Document, Table
from wayscore.rewards.nodes import LOOK_AHEAD
from wayscore.writing import write_whole

REWARDS = tuple(agent for agent in FOLLOWING if agent != "continued")
UPDATES = 200
USUAL = {"reinforcement_rate": 1e-3, "entropy": 0.01, "guidance": 0.3}
TRIED: tuple[Mapping[str, float], ...] = (
    USUAL,
    {**USUAL, "reinforcement_rate": 5e-4},
    {**USUAL, "reinforcement_rate": 2e-3},
    {**USUAL, "entropy": 0.03},
    {**USUAL, "guidance": 0.1},
    {**USUAL, "guidance": 1.0},
    {**USUAL, "guidance": 3.0},
)
"""The settings that are tried: the usual ones, changed one at a time."""


def search_jobs(plan: Plan) -> list[Job]:
    """Return a training for every reward and setting, on the first dataset."""
    dataset = plan.datasets[0]
    start = f"{dataset}-imitation-0"
    return [
        Job(f"search/{reward}-{number}", dataset, reward, 0, start)
        for number in range(len(TRIED))
        for reward in REWARDS
    ]


def run_search_job(job: Job, plan: Plan, progress: Callable[[str], None] | None = None) -> None:
    """Train with one setting and save its scores in held-out houses, unless they are already saved."""
    folder = plan.out / job.name
    if (folder / "scores.json").exists():
        return
    setting: Any = TRIED[int(job.name.rsplit("-", 1)[1])]
    updates = max(1, round(plan.scale * UPDATES))
    recipe = replace(recipe_of(job, plan), reinforcement=updates, every=updates, **setting)
    trainer = trainer_of(job, plan, recipe)
    trainer.run(folder)
    scores = {name: trainer.curve[-1][name] for name in ("SR", "nDTW", "SDTW", "PL")}
    write_whole(folder / "scores.json", json.dumps({"setting": setting, **scores}).encode())
    if progress is not None:
        progress(f"{job.name}: {CHOSEN_BY} {scores[CHOSEN_BY]:.3f} in held-out houses")


def chosen(out: Path) -> dict[str, Mapping[str, float]]:
    """Return reward -> the best setting, from what the search has saved."""
    found = {}
    for reward in REWARDS:
        scores = _saved(out, reward)
        if scores:
            best = max(scores, key=lambda number: (scores[number][CHOSEN_BY], -number))
            found[reward] = TRIED[best]
    return found


def _saved(out: Path, reward: str) -> dict[int, dict[str, Any]]:
    files = {number: out / "search" / f"{reward}-{number}" / "scores.json" for number in range(len(TRIED))}
    return {number: json.loads(file.read_text()) for number, file in files.items() if file.exists()}


def searched(out: Path) -> list[dict[str, Any]]:
    """Return what every reward reached with every setting in held-out houses, and which were chosen."""
    best = chosen(out)
    return [
        {"reward": reward, "chosen": best[reward] is TRIED[number], **scores}
        for reward in REWARDS
        for number, scores in _saved(out, reward).items()
    ]


def table(out: Path) -> Document:
    """Return what every setting reached in held-out houses, percent; the chosen ones have a star."""
    rows = []
    for one in searched(out):
        settings = (f"{one['setting'][name]:g}" for name in USUAL)
        scores = (f"{100 * one[metric]:.1f}" for metric in ("SR", "nDTW", "SDTW"))
        rows.append([one["reward"], *settings, *scores, "*" if one["chosen"] else ""])
    return Document([Table(["reward", "learning rate", "entropy", "guidance", "SR", "nDTW", "SDTW", ""], rows)])


VARIANTS: dict[str, dict[str, Any]] = {
    "everything": {},
    "no views": {},
    "no words": {"without": ("words",)},
    "no look-ahead": {"without": LOOK_AHEAD},
    "no visited flags": {"without": ("came from", "visited")},
    "no mirror images": {"mirror": False},
    "teacher forcing only": {"student": 0.0},
    "a faithful teacher": {"teacher": "faithful"},
    "dropout": {"dropout": 0.2, "word_dropout": 0.05},
    "half the size": {"hidden": 64, "embedding": 32},
}
"""Name -> what its recipe changes; "no views" trains without captions and detections."""


def ablate(
    name: str,
    out: Path,
    references: Path,
    graphs: Path | None,
    views: Path | None,
    updates: int,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Train one variant by imitation and save its scores in held-out houses, unless they are already saved."""
    from wayscore.lab.agents.checkpoints import Recipe
    from wayscore.lab.agents.data import lessons_from_files
    from wayscore.lab.agents.rollout import evaluate
    from wayscore.lab.agents.training import Trainer

    folder = out / f"{name.replace(' ', '-')}-{seed}"
    if (folder / "scores.json").exists():
        return
    lessons = lessons_from_files(references, graphs, views=None if name == "no views" else views)
    recipe = replace(
        Recipe(teacher="shortest", imitation=updates, reinforcement=0, seed=seed, every=max(1, updates // 6)),
        **VARIANTS[name],
    )
    trainer = Trainer(lessons.train, recipe, dev=lessons.dev, sight=lessons.sight)
    if (folder / CHECKPOINT).exists():
        trainer.resume(folder)

    def report(update: int, row: Any) -> None:
        if progress is not None and row is not None:
            progress(f"{name}: update {update} of {trainer.total}, SR {row['SR']:.3f}, nDTW {row['nDTW']:.3f}")

    trainer.run(folder, report)
    scores = evaluate(trainer.policy, lessons.dev, recipe, lessons.sight)
    write_whole(folder / "scores.json", json.dumps(scores).encode())


def ablation_table(out: Path, seeds: int) -> Document:
    """Return the scores of all variants that were trained, percent, means over seeds."""
    metrics = ("SR", "nDTW", "SDTW")
    rows = []
    for name in VARIANTS:
        files = [out / f"{name.replace(' ', '-')}-{seed}" / "scores.json" for seed in range(seeds)]
        scores = [json.loads(file.read_text()) for file in files if file.exists()]
        if scores:
            means = (100 * sum(one[metric] for one in scores) / len(scores) for metric in metrics)
            rows.append([name, *(f"{mean:.1f}" for mean in means)])
    return Document([Table(["imitation, held-out houses", *metrics], rows)])
