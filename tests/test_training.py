"""Training: it learns, it goes on where it stopped, and what it writes is scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from wayscore.navigation.baselines import random_walks
from wayscore.navigation.tasks import Tasks, from_worlds

torch = pytest.importorskip("torch", reason="install wayscore[navigation] to run the training's tests")

from wayscore.navigation.policy import Policy, Shape  # noqa: E402
from wayscore.navigation.training import (  # noqa: E402
    MIRRORED,
    Recipe,
    Trainer,
    evaluate,
    load_policy,
    mirrored_words,
    walk_all,
)

SMALL = Recipe(
    imitation=6, reinforcement=4, batch=8, hidden=16, embedding=8, threshold=1.4, most_steps=6, every=3, seed=5
)


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return from_worlds(800, worlds=3, seed=1, stages=1)


def test_going_on_from_a_checkpoint_is_never_having_stopped(tasks: Tasks, tmp_path: Path) -> None:
    whole = Trainer(tasks, SMALL, dev=tasks)
    whole.run()

    class KilledError(Exception):
        pass

    def kill(update: int, row: Any) -> None:
        if update == 7:
            raise KilledError

    broken = Trainer(tasks, SMALL, dev=tasks)
    with pytest.raises(KilledError):
        broken.run(tmp_path, kill)
    again = Trainer(tasks, SMALL, dev=tasks)
    again.resume(tmp_path)
    assert again.updates == 6
    again.run(tmp_path)
    assert again.curve == whole.curve
    for mine, theirs in zip(again.policy.state_dict().values(), whole.policy.state_dict().values(), strict=True):
        assert torch.equal(mine, theirs)
    assert (tmp_path / "curve.csv").read_text().count("\n") == 1 + len(whole.curve)
    with pytest.raises(ws.OptionError, match=r"trained by another recipe \(seed\)"):
        Trainer(tasks, replace(SMALL, seed=6)).resume(tmp_path)
    policy, recipe, vocabulary = load_policy(tmp_path)
    assert recipe == SMALL
    assert vocabulary.known == tasks.vocabulary.known
    assert evaluate(policy, tasks, recipe) == evaluate(whole.policy, tasks, SMALL)


def test_checkpoints_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ws.FormatError, match="there is no checkpoint"):
        load_policy(tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ws.FormatError, match="is not a checkpoint of wayscore"):
        load_policy(tmp_path)


def test_seeds_matter_and_repeat(tasks: Tasks) -> None:
    curves = []
    for seed in (1, 1, 2):
        trainer = Trainer(tasks, replace(SMALL, seed=seed))
        trainer.run()
        curves.append(trainer.curve)
    assert curves[0] == curves[1] != curves[2]


def test_it_learns_to_follow(tasks: Tasks) -> None:
    recipe = replace(
        SMALL, imitation=300, reinforcement=30, batch=32, hidden=48, embedding=24, every=330, dropout=0.0, rate=5e-3
    )
    trainer = Trainer(tasks.some(range(700)), recipe)
    trainer.run()
    unseen = tasks.some(range(700, 800))
    found = evaluate(trainer.policy, unseen, recipe)
    # What a random walker of the right length scores, and five times how far chance would carry a mean of a hundred.
    scores = random_scores(unseen, np.random.default_rng(0))
    assert float(found["nDTW"]) > np.mean(scores) + 5 * np.std(scores) / 100**0.5 + 0.1
    paths = walk_all(trainer.policy, unseen, recipe)
    assert len(paths) == 100
    assert all(len(path) <= recipe.most_steps + 1 for path in paths)


def random_scores(tasks: Tasks, rng: np.random.Generator) -> list[float]:
    """Return nDTW of twenty random walks for each task."""
    graphs = {scene: ws.World.paper(1000 + number).graph for number, scene in enumerate(tasks.places.scenes)}
    scores = []
    for scene, path, length in zip(tasks.scene_of, tasks.paths, tasks.lengths, strict=True):
        graph = graphs[scene]
        codes = path[:length] - tasks.places.numbers(scene, [graph.nodes[0]])  # type: ignore[list-item]
        starts = np.full(20, codes[0], dtype=np.int32)
        walks = random_walks(graph, starts, np.full(20, length), rng)
        table = ws.score(
            references=[graph.encode([[graph.nodes[code] for code in codes]])[0]] * 20,
            queries=walks,
            distance=ws.Table(graph.table, range(len(graph))),
            threshold=1.4,
            metrics="nDTW",
        )
        scores += table["nDTW"].tolist()
    return scores


def test_the_mirror_image_of_words(tasks: Tasks) -> None:
    mirror = mirrored_words(tasks.vocabulary)
    left, right = (tasks.vocabulary.numbers[word] for word in ("left", "right"))
    assert (mirror[left], mirror[right]) == (right, left)
    assert (mirror[mirror] == np.arange(len(tasks.vocabulary))).all()
    assert "left" in MIRRORED


def test_a_policy_ignores_padding_and_impossible_ways() -> None:
    torch.manual_seed(0)
    policy = Policy(Shape(words=20, embedding=8, hidden=16)).eval()
    features, mask = torch.randn(1, 4, 18), torch.tensor([[True, True, True, False]])
    short, padded = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 7, 0, 0], [1, 2, 3, 4, 5]])
    logits, _, _, _ = policy.step(policy.read(short), features, mask)
    both, _, _, _ = policy.step(policy.read(padded), features.expand(2, 4, 18), mask.expand(2, 4))
    assert torch.allclose(logits[0], both[0], atol=1e-6)
    assert logits[0, 3] < -1e8
