"""The agents of the paper's Table 2: trained by imitation and what follows it, over several seeds; and tested.

Each training is a job that writes its trajectories and scores to its own folder. A finished job is skipped, and an
interrupted one continues from its checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from wayscore.errors import FormatError, OptionError, did_you_mean
from wayscore.formats.trajectories import encode_run
from wayscore.lab.agents.checkpoints import CHECKPOINT
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.episodes import References
    from wayscore.lab.agents.agent import Agent
    from wayscore.lab.agents.checkpoints import Recipe
    from wayscore.lab.agents.data import Lessons, WordWeights

METRICS = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")
WORDS = {"r2r": 80, "r4r": 120, "sparse": 80}
"""Dataset -> words of an instruction that are read; "sparse" is R2R with few instructions to learn from."""
FOLLOWING = ("continued", "goal", "goal-per-threshold", "fidelity")
"""What follows imitation: as many further updates of imitation, as a control, or a reward."""
EPISODES = {"r4r": 60_000, "sparse": 1_200}
"""Dataset -> the number of instructions drawn from the training split: of R4R's more than a training uses, of R2R's a
tenth."""


@dataclass(frozen=True)
class Plan:
    """The trainings and their data.

    Attributes:
        out: the output folder.
        r2r: the folder of R2R's files; None for generated worlds.
        graphs: connectivity files.
        views: captions and detections; None to train without them.
        seeds: how many random seeds per agent.
        scale: multiplies all numbers of updates.
        settings: reward -> what its recipe changes, as a search found it.
    """

    out: Path
    r2r: Path | None = None
    graphs: Path | None = None
    views: Path | None = None
    seeds: int = 5
    scale: float = 1.0
    settings: Mapping[str, Mapping[str, float]] | None = None

    @property
    def datasets(self) -> tuple[str, ...]:
        """What agents are trained and tested on."""
        return ("worlds",) if self.r2r is None else ("r2r", "r4r", "sparse")

    def folders(self, dataset: str, agent: str) -> list[Path]:
        """Return the folders of one agent's trainings, one per seed."""
        return [self.out / f"{dataset}-{agent}-{seed}" for seed in range(self.seeds)]


@dataclass(frozen=True)
class Job:
    """One training.

    Attributes:
        name: of its folder.
        dataset: what it is trained and tested on.
        agent: "imitation"; or what follows it: more imitation ("continued", the control), or the name of a reward.
        seed: random seed.
        after: the job whose policy it starts from.
    """

    name: str
    dataset: str
    agent: str
    seed: int
    after: str | None


class Work(Protocol):
    """What can be worked off."""

    @property
    def name(self) -> str:
        """Its own name."""

    @property
    def after(self) -> str | None:
        """The name of what must be finished before, if anything."""


SomeWork = TypeVar("SomeWork", bound=Work)


def jobs(plan: Plan) -> list[Job]:
    """Return all trainings, each after the one that it starts from.

    >>> [job.name for job in jobs(Plan(Path("out"), seeds=1))][:3]
    ['worlds-imitation-0', 'worlds-continued-0', 'worlds-goal-0']
    """
    found = []
    for seed in range(plan.seeds):
        for dataset in plan.datasets:
            before = f"r2r-imitation-{seed}" if dataset == "r4r" else None
            imitation = Job(f"{dataset}-imitation-{seed}", dataset, "imitation", seed, before)
            found.append(imitation)
            found += [Job(f"{dataset}-{agent}-{seed}", dataset, agent, seed, imitation.name) for agent in FOLLOWING]
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


def recipe_of(job: Job, plan: Plan) -> Recipe:
    """Return the recipe of a job."""
    from wayscore.lab.agents.checkpoints import Recipe
    from wayscore.rewards.tasks import WORLD_THRESHOLD

    recipe = {
        "r2r": Recipe(teacher="shortest"),
        "r4r": Recipe(teacher="faithful", imitation=600, reinforcement=600, guided=0.5, max_episode_steps=20),
        "sparse": Recipe(teacher="shortest", imitation=400, reinforcement=400),
        "worlds": Recipe(teacher="faithful", imitation=600, reinforcement=500, rate=4e-3, hidden=64, embedding=32),
    }[job.dataset]
    imitation, reinforcement = (max(1, round(plan.scale * n)) for n in (recipe.imitation, recipe.reinforcement))
    recipe = replace(recipe, seed=job.seed, threshold=WORLD_THRESHOLD if job.dataset == "worlds" else 3.0)
    if job.agent == "imitation":
        return replace(recipe, imitation=imitation, reinforcement=0)
    if job.agent == "continued":
        return replace(recipe, imitation=reinforcement, reinforcement=0, rate=recipe.reinforcement_rate)
    chosen: Any = (plan.settings or {}).get(job.agent, {})
    return replace(recipe, imitation=0, reinforcement=reinforcement, reward=job.agent, **chosen)


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


def trainer_of(job: Job, plan: Plan, recipe: Recipe) -> Any:
    """Return the trainer of a job, with the data that it learns from and the agent that it starts from."""
    from wayscore.lab.agents.checkpoints import load_checkpoint
    from wayscore.lab.agents.training import Trainer

    start = {} if job.after is None else load_checkpoint(plan.out / job.after)
    lessons = lessons_for(plan, job.dataset, start.get("vocabulary"), start.get("word_weights"))
    return Trainer(lessons.train, recipe, dev=lessons.dev, sight=lessons.sight, start=start.get("policy"))


def lessons_for(
    plan: Plan, dataset: str, known: Sequence[str] | None = None, weights: WordWeights | None = None
) -> Lessons:
    """Return what agents learn from, and the held-out houses; with the words and weights of an agent, if it has any."""
    from wayscore.lab.agents.data import lessons_from_worlds

    if dataset == "worlds":
        return lessons_from_worlds(seed=0)
    return _lessons(
        data_file(plan, dataset, "train"),
        plan.graphs,
        plan.views,
        WORDS[dataset],
        EPISODES.get(dataset),
        None if known is None else tuple(known),
        None if weights is None else tuple(weights.items()),
    )


@lru_cache(maxsize=1)  # the next job of a process mostly learns from the same data
def _lessons(
    train: Path,
    graphs: Path | None,
    views: Path | None,
    words: int,
    most: int | None,
    known: tuple[str, ...] | None,
    weights: tuple[tuple[str, float], ...] | None,
) -> Lessons:
    from wayscore.lab.agents.data import lessons_from_files

    learned = None if weights is None else dict(weights)
    return lessons_from_files(train, graphs, views=views, words=words, known=known, weights=learned, most=most)


def run_job(job: Job, plan: Plan, progress: Callable[[str], None] | None = None) -> None:
    """Train one agent, run it on the validation split and score it, unless its scores are already saved."""
    from wayscore.lab.agents.agent import Agent

    folder = plan.out / job.name
    if (folder / "scores.json").exists():
        return
    trainer = trainer_of(job, plan, recipe_of(job, plan))
    if (folder / CHECKPOINT).exists():
        trainer.resume(folder)

    def report(update: int, row: Any) -> None:
        if progress is not None and row is not None:
            progress(
                f"{job.name}: update {update} of {trainer.total}, nDTW {row.get('nDTW', 0.0):.3f} on held-out houses"
            )

    policy = trainer.run(folder, report)
    weights = None if trainer.sight is None else trainer.sight.weights
    tasks = trainer.tasks
    agent = Agent((policy,), trainer.recipe, tasks.vocabulary, tasks.tokens.shape[1], weights)
    scores = score_agent(plan, job.dataset, job.name, agent)
    scores |= {
        "training_cpu_seconds": round(trainer.seconds, 1),
        "updates": trainer.total,
        "recipe": {name: getattr(trainer.recipe, name) for name in ("reinforcement_rate", "entropy", "guidance")},
    }
    write_whole(folder / "scores.json", json.dumps(scores, indent=1).encode())


def work_off(work: Sequence[SomeWork], run: Callable[[SomeWork], None], workers: int) -> None:
    """Run jobs, several at a time in processes; each starts when the job that it continues is finished."""
    if workers <= 1:
        for job in work:
            run(job)
        return
    from concurrent.futures import FIRST_COMPLETED, wait

    from wayscore.evaluation.engines import processes

    waiting, names, done = list(work), {job.name for job in work}, set[str]()
    with processes(workers) as submit:
        running: dict[Any, SomeWork] = {}
        while waiting or running:
            for job in [job for job in waiting if job.after not in names - done]:
                running[submit(run, job)] = job
                waiting.remove(job)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done.add(running.pop(future).name)


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
    from wayscore.lab.agents.data import tasks_for

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
    from wayscore.lab.agents.data import world_test

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
