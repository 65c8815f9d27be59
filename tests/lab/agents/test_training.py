"""Training: it learns, and what it writes is an agent whose walks are scored."""

from __future__ import annotations

import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from wayscore.formats.episodes import Reference
from wayscore.lab.agents.data import read_views, tasks_for
from wayscore.rewards.tasks import Tasks, Vocabulary, from_references, from_worlds

torch = pytest.importorskip("torch", reason="install wayscore[navigation] to run the training's tests")

from tests.house import command as invoke  # noqa: E402
from wayscore.lab.agents.agent import Agent, evaluate, load_agent  # noqa: E402
from wayscore.lab.agents.checkpoints import Recipe, load_checkpoint, write_checkpoint  # noqa: E402
from wayscore.lab.agents.policy import Look, Policy, Shape  # noqa: E402
from wayscore.lab.agents.rollout import MIRRORED, mirrored_words, observe, roll, started  # noqa: E402
from wayscore.lab.agents.training import Running, Trainer  # noqa: E402
from wayscore.rewards.batch import FEATURES, STOP, AgentBatch  # noqa: E402
from wayscore.rewards.rewards import RewardFunction, find_reward  # noqa: E402

SMALL = Recipe(
    imitation=6,
    reinforcement=4,
    batch=8,
    hidden=16,
    embedding=8,
    threshold=1.4,
    max_episode_steps=6,
    max_test_steps=6,
    every=3,
    seed=5,
)


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return from_worlds(800, worlds=3, seed=1, stages=1)


@pytest.mark.soak
def test_a_checkpoint_is_an_agent(tasks: Tasks, tmp_path: Path) -> None:
    trainer = Trainer(tasks, SMALL, dev=tasks)
    trainer.run(tmp_path)
    assert (tmp_path / "curve.csv").read_text().count("\n") == 1 + len(trainer.curve)
    agent = load_agent(tmp_path)
    assert agent.weights is None
    assert agent.recipe == SMALL
    assert agent.words == tasks.tokens.shape[1]
    assert agent.vocabulary.known == tasks.vocabulary.known
    assert evaluate(agent.policies[0], tasks, agent.recipe) == evaluate(trainer.policy, tasks, SMALL)


def test_checkpoints_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ws.FormatError, match="there is no checkpoint"):
        load_agent(tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ws.FormatError, match="is not a checkpoint of wayscore"):
        load_agent(tmp_path)


def test_seeds_matter_and_repeat(tasks: Tasks) -> None:
    curves = []
    for seed in (1, 1, 2):
        trainer = Trainer(tasks, replace(SMALL, seed=seed))
        trainer.run()
        curves.append(trainer.curve)
    assert curves[0] == curves[1] != curves[2]


@pytest.mark.soak
def test_it_learns_to_follow(tasks: Tasks) -> None:
    recipe = replace(
        SMALL, imitation=300, reinforcement=30, batch=32, hidden=48, embedding=24, every=330, dropout=0.0, rate=5e-3
    )
    trainer = Trainer(tasks.some(range(700)), recipe)
    trainer.run()
    unseen = tasks.some(range(700, 800))
    found = evaluate(trainer.policy, unseen, recipe)
    # Walkers that take any way, as far as the references go, and five times how far chance carries a mean of a hundred.
    random = []
    for walkers in started(unseen, recipe):
        rng = np.random.default_rng(0)
        for move in range(int(unseen.lengths.max())):
            ways = [1 + rng.choice(np.flatnonzero(possible[1:])) for possible in walkers.mask()]
            walkers.act(np.where(move + 1 < unseen.lengths, ways, STOP))
        random += walkers.progress().ndtw.tolist()
    assert float(found["nDTW"]) > np.mean(random) + 5 * np.std(random) / 100**0.5 + 0.1
    paths = Agent((trainer.policy,), recipe, unseen.vocabulary, 120, None).paths(unseen)
    assert len(paths) == 100
    assert all(len(path) <= recipe.max_test_steps + 1 for path in paths)


def test_agents_that_decide_together(tasks: Tasks) -> None:
    some = tasks.some(range(120))
    alone, other = (made(len(tasks.vocabulary), seed) for seed in (0, 1))
    paths = together([alone], some)
    assert together([alone, alone, alone], some) == paths
    assert together([alone, other], some) == together([other, alone], some) != paths
    assert together([alone], some, mirror=True) != paths
    # The sum of two voters' logarithms, step by step, is what one takes who knows both.
    first = [path[1] if len(path) > 1 else path[0] for path in together([alone, other], some)]
    assert first == [
        where(some, row, int(np.argmax(first_votes(alone, some, row) + first_votes(other, some, row))))
        for row in range(len(some))
    ]


def test_a_mirror_image_is_voted_on_as_if_the_world_were_one(tasks: Tasks) -> None:
    """An agent that reads and sees the mirror image decides as one does that is in a mirrored world."""
    some, policy = tasks.some(range(40)), made(len(tasks.vocabulary), 3)
    walkers = next(started(some, SMALL))
    agents = np.arange(40)
    plain, turned = (observe(walkers, agents, some.tokens, SMALL, mirror=mirror) for mirror in (False, True))
    sines = [FEATURES.index(f"sin {times}h") for times in (1, 2, 3)]
    assert torch.equal(turned.features[..., sines], -plain.features[..., sines])
    assert torch.equal(turned.features[..., FEATURES.index("left")], plain.features[..., FEATURES.index("right")])
    kept = [number for number, name in enumerate(FEATURES) if number not in sines and name not in ("left", "right")]
    assert torch.equal(turned.features[..., kept], plain.features[..., kept])
    votes = decided(policy, torch.from_numpy(mirrored_words(tasks.vocabulary)[some.tokens]), *turned[1:3])
    usual = decided(policy, torch.from_numpy(some.tokens), *plain[1:3])
    best = (votes.log_softmax(1) + usual.log_softmax(1)).argmax(dim=1).tolist()
    paths = together([policy], some, mirror=True)
    assert [where(some, row, action) for row, action in enumerate(best)] == [(path[1:2] or path)[0] for path in paths]


def made(words: int, seed: int) -> Policy:
    torch.manual_seed(seed)
    policy = Policy(Shape(words=words, embedding=8, hidden=16)).eval()
    for parameter in policy.parameters():
        parameter.data *= 4.0  # decisions that differ
    return policy


def together(policies: list[Policy], tasks: Tasks, *, mirror: bool = False) -> list[list[str]]:
    return Agent(tuple(policies), SMALL, tasks.vocabulary, 120, None).paths(tasks, mirror=mirror)


def first_votes(policy: Policy, tasks: Tasks, row: int) -> Any:
    """Return the logarithms of the probabilities of one agent's first step."""
    one = tasks.some([row])
    walkers = next(started(one, SMALL))
    observed = observe(walkers, np.arange(1), one.tokens, SMALL)
    return decided(policy, torch.from_numpy(one.tokens), *observed[1:3]).log_softmax(1)[0].detach().numpy()


def where(tasks: Tasks, row: int, action: int) -> str:
    """Return the node after an action at the start of a task."""
    here = tasks.paths[row, 0]
    return str(tasks.nodes.names[here if action == 0 else tasks.nodes.neighbors[here, action - 1]])


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
    logits = decided(policy, short, features, mask)
    both = decided(policy, padded, features.expand(2, 4, 18), mask.expand(2, 4))
    assert torch.allclose(logits[0], both[0], atol=1e-6)
    assert logits[0, 3] < -1e8


def decided(policy: Any, tokens: Any, features: Any, mask: Any) -> Any:
    """Return the logits of the first step."""
    reading, state = policy.read(tokens)
    state, candidates = policy.advance(reading.keep, state, features, mask)
    row = torch.arange(len(tokens))
    logits, _ = policy.judge(reading, Look(row, torch.zeros_like(row), state.hidden, candidates, mask, None))
    return logits


def test_all_steps_judged_at_once_are_single_steps(tasks: Tasks) -> None:
    torch.manual_seed(0)
    policy = Policy(Shape(words=len(tasks.vocabulary), embedding=8, hidden=16)).eval()
    walkers = AgentBatch(tasks, 20, threshold=1.4, max_episode_steps=6)
    walkers.begin(np.arange(20))
    reading, state = policy.read(torch.from_numpy(tasks.tokens[:20]))
    steps = list(roll(policy, walkers, reading, state, "sample", SMALL))
    logits, values = policy.judge(reading, Look.joined([step.look for step in steps]))
    assert len(steps) > 2
    assert len(logits) == sum(len(step.actions) for step in steps) < 20 * len(steps)  # who has stopped decides nothing
    first = 0
    for step in steps:
        width, rows = step.look.mask.shape[1], slice(first, first + len(step.actions))
        alone, value = policy.judge(reading, step.look)
        assert torch.allclose(logits[rows, :width], alone, atol=1e-5)
        assert (logits[rows, width:] < -1e8).all()
        assert torch.allclose(values[rows], value, atol=1e-5)
        first = rows.stop


@pytest.mark.parametrize("name", ["goal", "fidelity"])
@pytest.mark.soak
def test_the_scale_of_a_reward_changes_nothing(tasks: Tasks, name: str) -> None:
    """Multiply a reward by a constant: the same curve, to the bit for a power of two, else within float error."""
    recipe = replace(SMALL, imitation=0, reinforcement=24, every=6, reinforcement_rate=5e-3, guided=0.0)
    curves = {}
    for factor in (1.0, 8.0, 0.1, 10.0):
        trainer = Trainer(tasks, replace(recipe, reward=scaled(name, factor)), dev=tasks.some(range(200)))
        trainer.run()
        curves[factor] = trainer.curve
    assert curves[1.0][0]["reward"] != curves[8.0][0]["reward"]
    for factor, curve in curves.items():
        for row, usual in zip(curve, curves[1.0], strict=True):
            assert row["reward"] == pytest.approx(factor * usual["reward"])
            for column in ("loss", "SR", "nDTW", "SDTW", "PL"):
                exact = factor in (1.0, 8.0)
                assert row[column] == (usual[column] if exact else pytest.approx(usual[column], abs=1e-4))


def scaled(name: str, factor: float) -> Any:
    reward = find_reward(name)
    return RewardFunction(
        name, "", lambda before, after: factor * reward.move(before, after), lambda at: factor * reward.stop(at)
    )


def test_running_numbers() -> None:
    running = Running()
    running.add(np.array([1.0, 3.0]))
    assert (running.mean, running.square) == (2.0, 5.0)
    assert running.standardised(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]
    running.add(np.array([2.0, 2.0]))
    assert running.mean == pytest.approx(2.0)
    assert running.square == pytest.approx(0.95 * 5 + 0.05 * 4)
    alike = Running()
    alike.add(np.full(3, 0.1))
    assert abs(alike.standardised(np.full(3, 0.1))).max() < 1e-12
    assert Running().size == 1.0


QUICK = ["--imitation", "4", "--reinforcement", "2", "--every", "3"]


def test_from_files_to_scores_by_the_command(course: Path, tmp_path: Path) -> None:
    files = ["-r", str(course / "references.json"), "-g", str(course / "connectivity")]
    agent = tmp_path / "agent"
    trained = invoke("train", str(agent), *files, "--held-out", "1", *QUICK, "--max-episode-steps", "14", status=0)
    assert trained.stdout.count("nDTW") == 2
    assert (agent / "curve.svg").stat().st_size > 1000
    again = invoke("train", str(agent), *files, "--held-out", "1", *QUICK, status=2)
    assert "has a checkpoint already" in again.stderr
    other = invoke("train", str(agent), *files, "--held-out", "1", "--resume", "--seed", "3")
    assert "trained with other settings (imitation, reinforcement, max_episode_steps, every, seed)" in other.stderr
    invoke("rollout", str(agent), *files, "-o", str(tmp_path / "run.json"), status=0)
    invoke("score", str(tmp_path / "run.json"), *files, "-f", "json", "--resamples", "10", status=0)
    refused = invoke("rollout", str(agent), *files, "-o", str(tmp_path / "run.json"), "--views", "views.tar")
    assert "was trained without views" in refused.stderr
    alone = (tmp_path / "run.json").read_bytes()
    invoke("rollout", str(agent), str(agent), *files, "-o", str(tmp_path / "run.json"))  # which agree
    assert (tmp_path / "run.json").read_bytes() == alone
    for words in (["--beam", "3"], ["--mirror"]):
        other = invoke("rollout", str(agent), *files, *words, "-o", str(tmp_path / "run.json"), status=0)
        assert (tmp_path / "run.json").read_bytes() != alone
    state = load_checkpoint(agent)
    state["vocabulary"][0] = "xyzzy"
    write_checkpoint(tmp_path / "other.pt", state)
    refused = invoke(
        "rollout", str(agent), str(tmp_path / "other.pt"), *files, "-o", str(tmp_path / "x.json"), status=2
    )
    assert "other.pt: reads other words than" in refused.stderr
    write_checkpoint(tmp_path / "other.pt", {**state, "words": -1})
    refused = invoke("rollout", str(tmp_path / "other.pt"), *files, "-o", str(tmp_path / "x.json"))
    assert "other.pt: is not a checkpoint of this agent (it reads -1 words)" in refused.stderr


def test_training_in_worlds_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wayscore.lab.agents.data import data_from_worlds

    monkeypatch.setattr(data_from_worlds, "__defaults__", (40,))
    invoke("train", str(tmp_path), "--worlds", *QUICK, status=0)
    for words in (["train", str(tmp_path / "x")], ["train", str(tmp_path / "x"), "--worlds", "-r", "file"]):
        refused = invoke(*words, status=2)
        assert "give either --references FILE" in refused.stderr


def test_what_is_seen(tmp_path: Path) -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("a", "c")], positions={"a": (0, 0, 0), "b": (0, 3, 0), "c": (3, 0, 0)})
    asked = [Reference("1", "house", ["a", "b"], "1", "walk past the sofas to the lamp. sofas lamp")]
    tasks = from_references(asked, {"house": graph})
    north, east = "12", "15"  # level views, 30 degrees apart
    views = {"a": {north: ["a sofa", []], east: ["a wall", [["lamp", 0, 0, 1, 1, 0.9]]]}}
    file = write_views(tmp_path / "views.tar", {"house": views})
    sight = read_views(file, tasks.nodes, tasks.vocabulary, common=0.5)
    candidates = 1 + int(tasks.nodes.degree[0])
    found = sight.matches(tasks.paths[:, 0], tasks.tokens, candidates) > 0
    words = {
        word: [n for n, number in enumerate(tasks.tokens[0]) if number == tasks.vocabulary.numbers[word]]
        for word in ("sofas", "lamp")
    }
    seen = {word: found[0][:, columns].any(axis=1).tolist() for word, columns in words.items()}
    towards = {graph.nodes[code]: 1 + n for n, code in enumerate(tasks.nodes.neighbors[0])}
    assert seen["sofas"][towards["b"]]
    assert not seen["sofas"][towards["c"]]
    assert seen["lamp"][towards["c"]]
    assert seen["sofas"][0]  # all around
    with pytest.raises(ws.FormatError, match="has no views of scene 'other'"):
        read_views(file, from_references([replace(asked[0], scene="other")], {"other": graph}).nodes, tasks.vocabulary)


def write_views(file: Path, views: dict[str, Any]) -> Path:
    with tarfile.open(file, "w") as archive:
        for scene, described in views.items():
            content = json.dumps(described).encode()
            member = tarfile.TarInfo(f"views/{scene}.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file


def test_weights_of_words_come_from_training_houses(tmp_path: Path) -> None:
    """A lamp is rare in one house and common in the other; an agent weighs it by the house that it learned in."""
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], positions={"a": (0, 0, 0), "b": (0, 3, 0), "c": (0, 6, 0)})
    asked = [Reference(scene, scene, ["a", "b"], scene, "lamp lamp") for scene in ("one", "two")]
    tasks = from_references(asked, {"one": graph, "two": graph})
    lamp = {str(view): ["a lamp", []] for view in range(36)}
    file = write_views(tmp_path / "v.tar", {"one": {"a": {"12": ["a lamp", []]}}, "two": {"a": lamp, "b": lamp}})
    sights = [read_views(file, tasks.nodes, tasks.vocabulary, learn_in=[scene], common=1.0) for scene in ("one", "two")]
    assert sights[0].weights["lamp"] > sights[1].weights["lamp"] > 0
    alone = from_references(asked[1:], {"two": graph}, vocabulary=tasks.vocabulary)
    again = read_views(file, alone.nodes, tasks.vocabulary, sights[0].weights)
    assert again.weights == sights[0].weights
    here = alone.paths[:, 0]
    assert (again.matches(here, alone.tokens, 2) == sights[0].matches(tasks.paths[1:, 0], tasks.tokens[1:], 2)).all()


@pytest.mark.skipif("WAYSCORE_DATA" not in os.environ, reason="set WAYSCORE_DATA to test on R2R")
@pytest.mark.soak
def test_walks_of_each_house_alone_are_the_walks_of_all_together() -> None:
    data = Path(os.environ["WAYSCORE_DATA"])
    references = ws.load_references(data / "r2r/R2R_val_unseen.json.gz")
    graphs, views = ws.load_graphs(data / "connectivity.tar.gz"), data / "semantics/langnav_views.tar.gz"
    episodes = list(references.episodes.values())
    every, sight = tasks_for(episodes, graphs, Vocabulary.of((e.instruction for e in episodes), least=2), views=views)
    assert sight is not None
    torch.manual_seed(0)
    policy = Policy(Shape(words=len(every.vocabulary), seen=True))
    torch.nn.init.constant_(policy.match.weight, 1.0)  # so that what is seen decides
    agent = Agent((policy,), Recipe(), every.vocabulary, 80, sight.weights)
    together = dict(zip(every.names, agent.paths(every, sight), strict=True))
    for house in list(every.nodes.scenes)[:4]:
        some = [episode for episode in episodes if episode.scene == house]
        alone, there = tasks_for(some, graphs, every.vocabulary, views=views, weights=sight.weights)
        assert agent.paths(alone, there) == [together[name] for name in alone.names]
