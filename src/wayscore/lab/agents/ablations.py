"""Ablations: agents trained by imitation, each without one ingredient, evaluated in held-out houses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayscore.lab.agents.checkpoints import CHECKPOINT
from wayscore.report.document import Document, Table
from wayscore.rewards.batch import LOOK_AHEAD
from wayscore.writing import write_whole

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
    from wayscore.lab.agents.houses import lessons_from_files
    from wayscore.lab.agents.recipe import Recipe
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


def table(out: Path, seeds: int) -> Document:
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
