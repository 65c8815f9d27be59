"""The agents of the paper's Table 2: trained over several seeds, tested, and scored; with searches and ablations.

Each job writes what it found to its own folder. A finished job is skipped, and an interrupted one continues from its
checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.trajectories import encode_run
from wayscore.lab.agents.checkpoints import CHECKPOINT, SHOWN, Recipe, load_checkpoint
from wayscore.rewards.batch import LOOK_AHEAD
from wayscore.rewards.tasks import WORLD_THRESHOLD
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.formats.episodes import References
    from wayscore.lab.agents.agent import Agent
    from wayscore.lab.agents.data import TrainingData

METRICS = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")
WORDS = {"r2r": 80, "r4r": 120, "sparse": 80}
"""Dataset -> words of an instruction that are read; "sparse" is R2R with few instructions to learn from."""
EPISODES = {"r4r": 60_000, "sparse": 1_200}
"""Dataset -> the number of instructions drawn from the training split: of R4R's more than a training uses, of R2R's a
tenth."""
RECIPES = {
    "r2r": Recipe(teacher="shortest"),
    "r4r": Recipe(teacher="faithful", imitation=600, reinforcement=600, guided=0.5, max_episode_steps=20),
    "sparse": Recipe(teacher="shortest", imitation=400, reinforcement=400),
    "worlds": Recipe(
        teacher="faithful",
        imitation=600,
        reinforcement=500,
        rate=4e-3,
        hidden=64,
        embedding=32,
        threshold=WORLD_THRESHOLD,
    ),
}
FOLLOWING = ("continued", "goal", "goal-per-threshold", "fidelity")
"""What follows imitation: as many further updates of imitation, as a control, or a reward."""
REWARDS = FOLLOWING[1:]
TOGETHER = ("goal", "fidelity")
"""The agents whose seeds are also tested together, on the first dataset."""
PLANNED = {"r2r": ("imitation", *FOLLOWING), "r4r": ("continued", "goal", "fidelity")}
"""Dataset -> the agents that are also tested planning ahead, each seed alone."""
BEAM = 15
"""How many walks a planning agent imagines at once: more changed nothing in held-out houses."""
CAPS = (10, 15, 20, 30)
"""Largest numbers of moves per episode; scores are by the last."""
CHOSEN_BY = "SDTW"
"""In held-out houses, for what is chosen there."""
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
"""The settings that a search tries with every reward: the usual ones, changed one at a time."""
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
"""Ablations: name -> what the recipe of imitation changes; "no views" trains without captions and detections."""
SEARCH_UPDATES, ABLATION_UPDATES = 200, 1_500
SCORES = "scores.json"
"""What a finished job has in its folder."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """The folder of all results, the data, and how much is trained."""

    out: Path
    r2r: Path | None = None  # the folder of R2R's files; None for generated worlds
    graphs: Path | None = None
    views: Path | None = None
    seeds: int = 5
    scale: float = 1.0  # multiplies all numbers of updates
    settings: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    """Reward -> what its recipe changes, as a search found it."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """What agents are trained and tested on."""
        return ("worlds",) if self.r2r is None else ("r2r", "r4r", "sparse")

    def folders(self, dataset: str, agent: str) -> list[Path]:
        """Return the folders of one agent's trainings, one per seed."""
        return [self.out / f"{dataset}-{agent}-{seed}" for seed in range(self.seeds)]

    def updates(self, count: int) -> int:
        """Return a number of updates, scaled."""
        return max(1, round(self.scale * count))


@dataclass(frozen=True)
class Job:
    """One training, or one further test of trained agents; its name is that of its folder."""

    name: str
    dataset: str
    recipe: Recipe | None = None  # the settings of the training; None for a further test
    after: str | None = None  # the job whose policy it starts from
    views: bool = True
    in_held_out: bool = False  # whether it is only scored in held-out houses, not on the validation split
    saved: Mapping[str, Any] = field(default_factory=dict)  # what is saved beside these scores
    tested: tuple[str, ...] = ()  # the trainings whose policies decide together in a further test
    beam: int | None = None  # how many walks they imagine at once; None if nothing is planned


def recipe_of(plan: Plan, dataset: str, agent: str, seed: int = 0) -> Recipe:
    """Return how an agent is trained: by imitation, by more of it ("continued", the control), or with a reward."""
    recipe = replace(RECIPES[dataset], seed=seed)
    imitation, reinforcement = plan.updates(recipe.imitation), plan.updates(recipe.reinforcement)
    if agent == "imitation":
        return replace(recipe, imitation=imitation, reinforcement=0)
    if agent == "continued":
        return replace(recipe, imitation=reinforcement, reinforcement=0, rate=recipe.reinforcement_rate)
    changes: Mapping[str, Any] = plan.settings.get(agent, {})
    return replace(recipe, imitation=0, reinforcement=reinforcement, reward=agent, **changes)


def jobs(plan: Plan) -> list[Job]:
    """Return all trainings, each after the one that it starts from.

    >>> [job.name for job in jobs(Plan(Path("out"), seeds=1))][:3]
    ['worlds-imitation-0', 'worlds-continued-0', 'worlds-goal-0']
    """
    found = []
    for seed in range(plan.seeds):
        for dataset in plan.datasets:
            start = f"{dataset}-imitation-{seed}"
            for agent in ("imitation", *FOLLOWING):
                after = start if agent != "imitation" else f"r2r-imitation-{seed}" if dataset == "r4r" else None
                found.append(Job(f"{dataset}-{agent}-{seed}", dataset, recipe_of(plan, dataset, agent, seed), after))
    return found


def needed_for(name: str, work: Sequence[Job]) -> list[Job]:
    """Return one training by its name, after those that it starts from.

    >>> [job.name for job in needed_for("r4r-goal-1", jobs(Plan(Path("out"), Path("r2r"))))]
    ['r2r-imitation-1', 'r4r-imitation-1', 'r4r-goal-1']
    """
    by_name = {job.name: job for job in work}
    if name not in by_name:
        raise OptionError(f"<<only>>: there is no training {name!r}{did_you_mean(name, by_name)}")
    job = by_name[name]
    return [*(needed_for(job.after, work) if job.after else ()), job]


def trials(plan: Plan) -> list[Job]:
    """Return all further tests: planning ahead, all seeds together, and both.

    >>> [job.name for job in trials(Plan(Path("out"), seeds=2))][:2]
    ['worlds-goal-together', 'worlds-goal-together-planned']
    """
    found = [
        Job(f"{dataset}-{agent}-planned-{seed}", dataset, tested=(f"{dataset}-{agent}-{seed}",), beam=BEAM)
        for dataset in plan.datasets
        for agent in PLANNED.get(dataset, ())
        for seed in range(plan.seeds)
    ]
    dataset = plan.datasets[0]
    for agent in TOGETHER:
        every = tuple(folder.name for folder in plan.folders(dataset, agent))
        found.append(Job(f"{dataset}-{agent}-together", dataset, tested=every))
        found.append(Job(f"{dataset}-{agent}-together-planned", dataset, tested=every, beam=BEAM))
    return found


def search_jobs(plan: Plan) -> list[Job]:
    """Return a training for every reward and setting, on the first dataset.

    Every reward gets the same settings, the same number of updates, and the same agent to start from. The setting with
    the largest SDTW in the held-out houses is chosen; validation splits are not looked at.
    """
    dataset, updates = plan.datasets[0], plan.updates(SEARCH_UPDATES)
    found = []
    for number, setting in enumerate(TRIED):
        for reward in REWARDS:
            changes: dict[str, Any] = {**setting, "reinforcement": updates, "every": updates}
            recipe = replace(recipe_of(plan, dataset, reward), **changes)
            name, after, saved = f"search/{reward}-{number}", f"{dataset}-imitation-0", {"setting": setting}
            found.append(Job(name, dataset, recipe, after, in_held_out=True, saved=saved))
    return found


def ablation_jobs(plan: Plan) -> list[Job]:
    """Return trainings by imitation, each without one ingredient."""
    updates = plan.updates(ABLATION_UPDATES)
    usual = Recipe(teacher="shortest", imitation=updates, reinforcement=0, every=max(1, updates // 6))
    return [
        Job(
            f"{name.replace(' ', '-')}-{seed}",
            "r2r",
            replace(usual, seed=seed, **changes),
            views=name != "no views",
            in_held_out=True,
        )
        for seed in range(plan.seeds)
        for name, changes in VARIANTS.items()
        if plan.views is not None or name != "no views"
    ]


def work_off(work: Sequence[Job], run: Callable[[Job], None], workers: int) -> None:
    """Run jobs, several at a time in processes; each starts when the job that it continues is finished."""
    if workers <= 1:
        for job in work:
            run(job)
        return
    from concurrent.futures import FIRST_COMPLETED, wait

    from wayscore.evaluation.engines import processes

    waiting, names, done = list(work), {job.name for job in work}, set[str]()
    with processes(workers) as submit:
        running: dict[Any, Job] = {}
        while waiting or running:
            for job in [job for job in waiting if job.after not in names - done]:
                running[submit(run, job)] = job
                waiting.remove(job)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done.add(running.pop(future).name)


def prepare(plan: Plan) -> None:
    """Build R4R, if it is needed and does not exist yet."""
    if plan.r2r is None:
        return
    from wayscore.distances.graphs import load_graphs
    from wayscore.lab.agents.r4r import build, read_annotations

    if plan.graphs is None:
        raise OptionError("R2R and R4R need their connectivity graphs; give them with --graphs FOLDER or TAR")
    for split in ("train", "val_unseen"):
        target = data_file(plan, "r4r", split)
        if not target.exists():
            made = build(read_annotations(data_file(plan, "r2r", split)), load_graphs(plan.graphs))
            write_whole(target, msgspec.json.encode(made.paths), folders=True)


def data_file(plan: Plan, dataset: str, split: str) -> Path:
    """Return the file of a split: of R2R in its folder, of R4R in the output folder."""
    if dataset == "r4r":
        return plan.out / "data" / f"R4R_{split}.json"
    assert plan.r2r is not None
    files = [plan.r2r / f"R2R_{split}.json{ending}" for ending in ("", ".gz")]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise FormatError(
            f"{plan.r2r}: has neither {files[0].name} nor {files[1].name}; give the folder of R2R's files"
        )
    return found


@lru_cache(maxsize=1)  # the next job of a process mostly learns from the same data
def training_data(plan: Plan, dataset: str, start: str | None = None) -> TrainingData:
    """Return what agents learn from, and the held-out houses; with the words and weights of the agent to start from."""
    from wayscore.lab.agents.data import data_from_files, data_from_worlds

    if dataset == "worlds":
        return data_from_worlds()
    begun = {} if start is None else load_checkpoint(plan.out / start)
    return data_from_files(
        data_file(plan, dataset, "train"),
        plan.graphs,
        views=plan.views,
        words=WORDS[dataset],
        known=begun.get("vocabulary"),
        weights=begun.get("word_weights"),
        most=EPISODES.get(dataset),
    )


def run_job(job: Job, plan: Plan, progress: Progress | None = None) -> None:
    """Train an agent and score it, or test trained ones once more, unless the scores are already saved."""
    file = plan.out / job.name / SCORES
    if not file.exists():
        scores = _tested(job, plan) if job.recipe is None else _trained(job, job.recipe, plan, progress)
        write_whole(file, json.dumps(scores, indent=1).encode())


def _trained(job: Job, recipe: Recipe, plan: Plan, progress: Progress | None) -> dict[str, Any]:
    """Train an agent, from its checkpoint if there is one, and return its scores."""
    from wayscore.lab.agents.agent import load_agent
    from wayscore.lab.agents.training import Trainer

    folder = plan.out / job.name
    data = training_data(plan if job.views else replace(plan, views=None), job.dataset, job.after)
    start = None if job.after is None else load_checkpoint(plan.out / job.after)["policy"]
    trainer = Trainer(data.train, recipe, dev=data.dev, sight=data.sight, start=start)
    if (folder / CHECKPOINT).exists():
        trainer.resume(folder)

    def report(update: int, row: Any) -> None:
        if progress is not None and row is not None:
            scores = ", ".join(f"{name} {row[name]:.3f}" for name in SHOWN)
            progress(f"{job.name}: update {update} of {trainer.total}, {scores} in held-out houses")

    trainer.run(folder, report)
    if job.in_held_out:
        return {**job.saved, **{name: trainer.curve[-1][name] for name in (*SHOWN, "PL")}}
    return score_agent(plan, job, load_agent(folder)) | {
        "training_cpu_seconds": round(trainer.seconds, 1),
        "updates": trainer.total,
        "recipe": {name: getattr(recipe, name) for name in USUAL},
    }


def _tested(job: Job, plan: Plan) -> dict[str, Any]:
    """Test trained agents once more, and return their scores.

    Several decide together; whether they also vote on the mirror image is decided in held-out houses.
    """
    from wayscore.lab.agents.agent import load_agent
    from wayscore.lab.agents.rollout import means_of

    agent = load_agent(*(plan.out / name for name in job.tested))
    held_out: dict[str, Any] = {}
    if len(job.tested) > 1:
        data = training_data(plan, job.dataset, job.tested[0])
        for name, mirror in (("without_mirror", False), ("with_mirror", True)):
            walked = agent.walk(data.dev, data.sight, beam=job.beam, mirror=mirror)
            held_out[name] = means_of(walked, agent.recipe.threshold)
    mirror = bool(held_out) and held_out["with_mirror"][CHOSEN_BY] > held_out["without_mirror"][CHOSEN_BY]
    scores = score_agent(plan, job, agent, mirror=mirror)
    trained = [json.loads((plan.out / name / SCORES).read_text()) for name in job.tested]
    scores["training_cpu_seconds"] = round(sum(one["training_cpu_seconds"] for one in trained), 1)
    return scores | ({"held_out": held_out} if held_out else {})


def score_agent(plan: Plan, job: Job, agent: Agent, *, mirror: bool = False) -> dict[str, Any]:
    """Run an agent once on the validation split, save its trajectories as a result file, and score them by cap."""
    from wayscore.evaluation.evaluator import evaluate
    from wayscore.lab.agents.data import tasks_for

    started, recipe, folder = time.process_time(), agent.recipe, plan.out / job.name
    references, graphs = validation_data(plan, job.dataset)
    tasks, sight = tasks_for(
        references, graphs, agent.vocabulary, words=agent.words, views=plan.views, weights=agent.weights
    )
    labels = {str(node): node for graph in graphs.values() for node in graph.nodes} if job.dataset == "worlds" else {}
    paths = zip(tasks.names, agent.paths(tasks, sight, beam=job.beam, mirror=mirror), strict=True)
    walks = {episode: [labels.get(node, node) for node in path] for episode, path in paths}
    run = encode_run(walks)
    write_whole(folder / "run.json", run, folders=True)
    caps = {}
    for cap in (*(cap for cap in CAPS if cap < recipe.max_test_steps), recipe.max_test_steps):
        # What an agent does does not depend on the cap, so a smaller one only cuts its trajectory.
        cut = {episode: path[: cap + 1] for episode, path in walks.items()}
        result = evaluate(cut, references, graphs, threshold=recipe.threshold, metrics=METRICS, name=job.name)
        never = sum(len(path) > cap for path in walks.values()) / len(walks)
        caps[str(cap)] = {**result.means(), "never stopped": never}
    result.save(folder / "episodes.parquet")
    return {
        "means": result.means(),
        "caps": caps,
        "run_sha256": hashlib.sha256(run).hexdigest(),
        "test_cpu_seconds": round(time.process_time() - started, 1),
    }


def validation_data(plan: Plan, dataset: str) -> tuple[References, Any]:
    """Return the episodes that agents are tested on, and their graphs."""
    from wayscore.formats import load_references
    from wayscore.formats.benchmarks import distances_for
    from wayscore.lab.agents.data import world_test

    if dataset == "worlds":
        return world_test()
    references = load_references(data_file(plan, dataset, "val_unseen"))
    return references, distances_for(references, plan.graphs)
