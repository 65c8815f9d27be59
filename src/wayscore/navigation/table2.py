"""The paper's Table 2 from data to LaTeX: random, goal-oriented and fidelity-oriented agents, over several seeds.

Each training is a job that writes its result to its own folder. A finished job is skipped, and an interrupted one
continues from its checkpoint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from wayscore.errors import FormatError, OptionError

if TYPE_CHECKING:
    from wayscore.navigation.recipe import Recipe

METRICS = ("SR", "SPL", "SED", "CLS", "nDTW", "SDTW")
PAPER: dict[tuple[str, str], tuple[float, ...]] = {
    ("r2r", "random"): (5.1, 3.3, 5.8, 29.0, 27.9, 3.6),
    ("r2r", "goal"): (43.7, 38.4, 31.9, 53.5, 54.4, 36.1),
    ("r2r", "fidelity"): (44.4, 41.4, 33.9, 57.5, 58.3, 38.3),
    ("r4r", "random"): (13.7, 2.2, 16.5, 22.3, 18.5, 4.1),
    ("r4r", "goal"): (28.7, 15.0, 9.6, 33.4, 26.9, 11.4),
    ("r4r", "fidelity"): (28.5, 21.4, 9.4, 35.4, 30.4, 12.6),
}
"""Dataset and agent -> the paper's numbers, percent, in the order of `METRICS`."""
TRAINED_ON = {"r2r": 80, "r4r": 120, "worlds": 80}
"""Dataset -> words of an instruction that are read."""
FOLLOWING = ("goal", "fidelity", "continued")
"""What follows imitation: two rewards, and the same number of further imitation updates as a control."""
R4R_EPISODES = 60_000
"""The number of instructions drawn from R4R's training split: more than a training uses."""


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
    """

    out: Path
    r2r: Path | None = None
    graphs: Path | None = None
    views: Path | None = None
    seeds: int = 3
    scale: float = 1.0

    @property
    def datasets(self) -> tuple[str, ...]:
        """What agents are trained and tested on."""
        return ("worlds",) if self.r2r is None else ("r2r", "r4r")


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


def jobs(plan: Plan) -> list[Job]:
    """Return all trainings, each after the one that it starts from.

    >>> [job.name for job in jobs(Plan(Path("out"), seeds=1))]
    ['worlds-imitation-0', 'worlds-goal-0', 'worlds-fidelity-0', 'worlds-continued-0']
    """
    found = []
    for seed in range(plan.seeds):
        before: str | None = None
        for dataset in plan.datasets:
            imitation = Job(f"{dataset}-imitation-{seed}", dataset, "imitation", seed, before)
            found.append(imitation)
            found += [Job(f"{dataset}-{agent}-{seed}", dataset, agent, seed, imitation.name) for agent in FOLLOWING]
            before = imitation.name
    return found


def recipe_of(job: Job, scale: float = 1.0) -> Recipe:
    """Return the recipe of a job."""
    from wayscore.navigation.recipe import Recipe
    from wayscore.navigation.tasks import WORLD_THRESHOLD

    recipe = {
        "r2r": Recipe(teacher="shortest", imitation=3_000, reinforcement=1_500, max_episode_steps=10),
        "r4r": Recipe(
            teacher="faithful", imitation=1_000, reinforcement=1_000, max_episode_steps=17, guidance=0.5, guided=0.5
        ),
        "worlds": Recipe(
            teacher="faithful",
            imitation=600,
            reinforcement=500,
            rate=4e-3,
            max_episode_steps=10,
            hidden=64,
            embedding=32,
            dropout=0.0,
            threshold=WORLD_THRESHOLD,
        ),
    }[job.dataset]
    imitation, reinforcement = (max(1, round(scale * n)) for n in (recipe.imitation, recipe.reinforcement))
    recipe = replace(recipe, seed=job.seed)
    if job.agent == "imitation":
        return replace(recipe, imitation=imitation, reinforcement=0)
    if job.agent == "continued":
        return replace(recipe, imitation=reinforcement, reinforcement=0, rate=recipe.reinforcement_rate)
    return replace(recipe, imitation=0, reinforcement=reinforcement, reward=job.agent)


def prepare(plan: Plan) -> None:
    """Build R4R, if it is needed and does not exist yet."""
    if plan.r2r is None:
        return
    from wayscore.distances.graphs import load_graphs
    from wayscore.navigation.r4r import build, read_annotations

    if plan.graphs is None:
        raise OptionError("R2R and R4R need their connectivity graphs; give them with --graphs FOLDER or TAR")
    for split in ("train", "val_unseen"):
        target = data_file(plan, "r4r", split)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            made = build(read_annotations(data_file(plan, "r2r", split)), load_graphs(plan.graphs))
            target.with_suffix(".tmp").write_bytes(msgspec.json.encode(made.paths))
            target.with_suffix(".tmp").replace(target)


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


def run_job(job: Job, plan: Plan, progress: Callable[[str], None] | None = None) -> None:
    """Train one agent, run it on the validation split and score it, unless its scores are already saved."""
    from wayscore.navigation.houses import lessons_from_files, lessons_from_worlds
    from wayscore.navigation.rollout import load_checkpoint
    from wayscore.navigation.training import Trainer

    folder = plan.out / job.name
    if (folder / "scores.json").exists():
        return
    words = TRAINED_ON[job.dataset]
    if job.dataset == "worlds":
        lessons = lessons_from_worlds(seed=0)
    else:
        known = None if job.after is None else load_checkpoint(plan.out / job.after)["vocabulary"]
        lessons = lessons_from_files(
            data_file(plan, job.dataset, "train"),
            plan.graphs,
            views=plan.views,
            words=words,
            known=known,
            most=R4R_EPISODES,
        )
    start = None if job.after is None else load_checkpoint(plan.out / job.after)["policy"]
    trainer = Trainer(lessons.train, recipe_of(job, plan.scale), dev=lessons.dev, sight=lessons.sight, start=start)
    if (folder / "checkpoint.pt").exists():
        trainer.resume(folder)

    def report(update: int, row: Any) -> None:
        if progress is not None and row is not None:
            progress(
                f"{job.name}: update {update} of {trainer.total}, nDTW {row.get('nDTW', 0.0):.3f} on held-out houses"
            )

    trainer.run(folder, report)
    scores = _score(job, plan, trainer.policy, lessons.train.vocabulary)
    (folder / "scores.tmp").write_text(json.dumps(scores))
    (folder / "scores.tmp").replace(folder / "scores.json")


def _score(job: Job, plan: Plan, policy: Any, vocabulary: Any) -> dict[str, float]:
    """Run the policy once on the validation split, save its trajectories as a result file, and score them."""
    from wayscore.evaluation import evaluate
    from wayscore.formats.graphs import distances_for
    from wayscore.navigation.houses import tasks_for, world_test
    from wayscore.navigation.rollout import walk_all

    recipe = recipe_of(job)
    if job.dataset == "worlds":
        references, graphs = world_test()
    else:
        from wayscore.formats import load_references

        references = load_references(data_file(plan, job.dataset, "val_unseen"))
        graphs = distances_for(references, plan.graphs)
    tasks, sight = tasks_for(references, graphs, vocabulary, words=TRAINED_ON[job.dataset], views=plan.views)
    paths = walk_all(policy, tasks, recipe, sight)
    labels = {str(node): node for graph in graphs.values() for node in graph.nodes} if job.dataset == "worlds" else {}
    walks = {name: [labels.get(p, p) for p in path] for name, path in zip(tasks.names, paths, strict=True)}
    run = [{"instr_id": name, "trajectory": [[str(p), 0, 0] for p in path]} for name, path in walks.items()]
    (plan.out / job.name / "run.json").write_bytes(msgspec.json.encode(run))
    result = evaluate(walks, references, graphs, threshold=recipe.threshold, metrics=METRICS)
    return cast(dict[str, float], result.means())  # these six are defined in every episode


def random_row(plan: Plan, dataset: str, walks: int = 1_000_000) -> dict[str, float]:
    """Return the means of the random agent on a validation split."""
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for
    from wayscore.navigation.baselines import score_random
    from wayscore.navigation.houses import world_test
    from wayscore.navigation.tasks import WORLD_THRESHOLD

    if dataset == "worlds":
        references, graphs = world_test()
        table = score_random(references, graphs, walks=walks // 10, threshold=WORLD_THRESHOLD, metrics=list(METRICS))
    else:
        references = load_references(data_file(plan, dataset, "val_unseen"))
        table = score_random(references, distances_for(references, plan.graphs), walks=walks, metrics=list(METRICS))
    return {metric: mean for metric, mean in table.means().items() if mean is not None}


@dataclass(frozen=True)
class Cell:
    """A mean over seeds, percent, and half the width of its 95 % interval (0 with one seed, never NaN)."""

    mean: float
    margin: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Cell:
        """Return the mean of shares over seeds, with Student's interval.

        >>> Cell.of([0.40, 0.42])
        Cell(mean=41.0, margin=12.7)
        """
        count = len(values)
        mean = 100 * math.fsum(values) / count
        if count < 2:
            return cls(round(mean, 4), 0.0)
        from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes a second to import

        spread = math.sqrt(math.fsum((100 * value - mean) ** 2 for value in values) / (count - 1))
        return cls(round(mean, 4), round(float(stdtrit(count - 1, 0.975)) * spread / math.sqrt(count), 1))


Table2 = Mapping[tuple[str, str], Mapping[str, Cell]]


def gather(plan: Plan) -> dict[tuple[str, str], dict[str, Cell]]:
    """Return the row of every agent, over the finished seeds."""
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for dataset in plan.datasets:
        found[dataset, "random"] = {metric: Cell.of([mean]) for metric, mean in random_row(plan, dataset).items()}
        for agent in ("imitation", *FOLLOWING):
            files = [plan.out / f"{dataset}-{agent}-{seed}" / "scores.json" for seed in range(plan.seeds)]
            scores = [json.loads(file.read_text()) for file in files if file.exists()]
            if scores:
                found[dataset, agent] = {metric: Cell.of([one[metric] for one in scores]) for metric in METRICS}
    return found
