"""Training in two stages: imitation of a teacher, then A2C with a reward; with checkpoints, to the bit."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wayscore.errors import FormatError, OptionError
from wayscore.navigation.policy import Memory, Policy, Shape
from wayscore.navigation.recipe import Recipe
from wayscore.navigation.sight import Sight
from wayscore.navigation.tasks import Tasks
from wayscore.navigation.walking import FEATURES, Walkers
from wayscore.navigation.words import PADDING, UNKNOWN, Vocabulary

Choice = Literal["teacher", "sample", "best"]
Row = dict[str, float | int | str]
SINES = [FEATURES.index(f"sin {times}h") for times in (1, 2, 3)]
LEFT, RIGHT = FEATURES.index("left"), FEATURES.index("right")
MIRRORED = {"left": "right", "lefthand": "righthand", "leftmost": "rightmost", "east": "west"}
WORDS = "words"
EVALUATED_AT_ONCE = 256


class Trainer:
    """A policy in training.

    Args:
        tasks: what it is trained on.
        recipe: how.
        dev: what it is looked at with, from time to time; nothing is learned from it.
        sight: what is seen in the scenes, if anything is.
        start: weights to begin with, and no first stage of one's own.
    """

    def __init__(
        self,
        tasks: Tasks,
        recipe: Recipe,
        *,
        dev: Tasks | None = None,
        sight: Sight | None = None,
        start: Mapping[str, Tensor] | None = None,
    ) -> None:
        if unknown := set(recipe.without) - {*FEATURES, WORDS}:
            raise OptionError(
                f"there is no feature {min(unknown)!r} to leave out; known: {', '.join(FEATURES)}, {WORDS}"
            )
        torch.manual_seed(recipe.seed)
        self.tasks, self.recipe, self.dev, self.sight = tasks, recipe, dev, sight
        self.rng = np.random.default_rng(recipe.seed)
        self.policy = Policy(
            Shape(len(tasks.vocabulary), recipe.embedding, recipe.hidden, recipe.dropout, sight is not None)
        )
        if start is not None:
            self.policy.load_state_dict(dict(start))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=recipe.rate)
        self.updates = 0
        self.spread = 0.0
        """Running mean of the squared advantage, by which advantages are scaled."""
        self.curve: list[Row] = []
        self._walkers = Walkers(
            tasks, recipe.batch, reward=recipe.reward, threshold=recipe.threshold, most_steps=recipe.most_steps
        )
        self._mirrored = mirrored_words(tasks.vocabulary)
        self._left = np.empty(0, dtype=np.int64)

    @property
    def total(self) -> int:
        """All updates of both stages."""
        return self.recipe.imitation + self.recipe.reinforcement

    def run(self, folder: Path | None = None, progress: Callable[[int, Row | None], None] | None = None) -> Policy:
        """Train to the end, from wherever it stands; with a folder, leave a checkpoint and the curve there.

        Args:
            folder: where `checkpoint.pt` and `curve.csv` are kept up.
            progress: told the number of every update, and the row of the curve where there is a new one.
        """
        torch.set_num_threads(1)
        while self.updates < self.total:
            losses = self.update()
            row: Row | None = None
            if self.updates % self.recipe.every == 0 or self.updates == self.total:
                row = {"update": self.updates, "stage": self._stage(self.updates - 1), **losses}
                if self.dev is not None:
                    row |= evaluate(self.policy, self.dev, self.recipe, self.sight)
                self.curve.append(row)
                if folder is not None:
                    self.save(folder)
            if progress is not None:
                progress(self.updates, row)
        self.policy.eval()
        return self.policy

    def update(self) -> Row:
        """Learn from one batch."""
        recipe = self.recipe
        stage = self._stage(self.updates)
        first = stage == "imitation"
        done = self.updates if first else self.updates - recipe.imitation
        length = recipe.imitation if first else recipe.reinforcement
        rate = (recipe.rate if first else recipe.reinforcement_rate) * (1 - done / length)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.policy.train()
        if first:
            loss = self._imitate("sample" if self.rng.random() < recipe.student else "teacher")
            told: Row = {"loss": float(loss.detach())}
        else:
            loss, told = self._reinforce()
            if self.rng.random() < recipe.guided:
                loss = loss + recipe.guidance * self._imitate("teacher")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.optimizer.step()
        self.updates += 1
        return told

    def save(self, folder: Path) -> None:
        """Write everything that training depends on, and the curve; a kill in the middle leaves the last one whole."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "recipe": asdict(self.recipe),
            "shape": self.policy.shape.to_dict(),
            "vocabulary": list(self.tasks.vocabulary.known),
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "updates": self.updates,
            "spread": self.spread,
            "curve": self.curve,
            "left": self._left.tolist(),
            "numpy": self.rng.bit_generator.state,
            "torch": torch.get_rng_state(),
        }
        names = list(dict.fromkeys(name for row in self.curve for name in row))
        with (folder / "curve.tmp").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, names, restval="")
            writer.writeheader()
            writer.writerows(self.curve)
        # The curve first: no training goes on from the last checkpoint, to write a curve that a kill left behind it.
        os.replace(folder / "curve.tmp", folder / "curve.csv")
        torch.save(state, folder / "checkpoint.tmp")
        os.replace(folder / "checkpoint.tmp", folder / "checkpoint.pt")

    def resume(self, folder: Path) -> None:
        """Go on from a checkpoint of the same recipe."""
        state = load_checkpoint(folder)
        if state["recipe"] != asdict(self.recipe):
            changed = [name for name, value in asdict(self.recipe).items() if state["recipe"].get(name) != value]
            raise OptionError(
                f"{folder}: was trained by another recipe ({', '.join(changed)}); give the same options, or another "
                "folder"
            )
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates, self.spread, self.curve = state["updates"], state["spread"], state["curve"]
        self._left = np.array(state["left"], dtype=np.int64)
        self.rng.bit_generator.state = state["numpy"]
        torch.set_rng_state(state["torch"])

    def _stage(self, update: int) -> str:
        return "imitation" if update < self.recipe.imitation else "reinforcement"

    def _draw(self) -> NDArray[np.int64]:
        """Return a batch of episodes: all once, in random order, before any comes again."""
        if len(self._left) < self.recipe.batch:
            rounds = -(-self.recipe.batch // len(self.tasks))
            self._left = np.concatenate([self.rng.permutation(len(self.tasks)) for _ in range(rounds)])
        batch, self._left = self._left[: self.recipe.batch], self._left[self.recipe.batch :]
        return batch

    def _imitate(self, choice: Choice) -> Tensor:
        """Return the cross entropy of the teacher's actions, a sum over each episode."""
        total = torch.zeros(())
        for step in self._walk(choice):
            cost = nn.functional.cross_entropy(step.logits, step.teacher, reduction="none")
            total = total + (cost * step.running).sum()
        return total / self.recipe.batch

    def _reinforce(self) -> tuple[Tensor, Row]:
        """Return the loss of A2C with the returns of whole episodes."""
        steps = list(self._walk("sample"))
        running = torch.stack([step.running for step in steps])
        returns = torch.zeros(len(steps), self.recipe.batch)
        after = torch.zeros(self.recipe.batch)
        for at in range(len(steps) - 1, -1, -1):
            after = steps[at].rewards + self.recipe.discount * after
            returns[at] = after
        values = torch.stack([step.values for step in steps])
        advantage = (returns - values).detach() * running
        count = running.sum()
        square = float((advantage**2).sum() / count)
        self.spread = square if not self.spread else 0.95 * self.spread + 0.05 * square
        advantage = advantage / max(self.spread, 1e-12) ** 0.5
        logs = torch.stack([torch.log_softmax(step.logits, dim=1) for step in steps])
        actions = torch.stack([step.actions for step in steps])
        taken = logs.gather(2, actions[..., None]).squeeze(2)
        entropy = -(logs.exp() * logs).sum(dim=2)
        loss = -(taken * advantage) - self.recipe.entropy * entropy * running
        loss = loss + self.recipe.value * ((returns - values) ** 2) * running
        gained = float(sum(step.rewards.sum() for step in steps)) / self.recipe.batch
        return loss.sum() / self.recipe.batch, {
            "loss": float(loss.detach().sum() / self.recipe.batch),
            "reward": gained,
        }

    def _walk(self, choice: Choice) -> Any:
        """Walk a batch of episodes; yield what is learned from at each step."""
        recipe, walkers = self.recipe, self._walkers
        episodes = self._draw()
        walkers.begin(episodes)
        tokens = self.tasks.tokens[episodes]
        mirror = recipe.mirror and self.rng.random() < 0.5
        heard = self._mirrored[tokens] if mirror else tokens
        lost = (self.rng.random(tokens.shape) < recipe.word_dropout) & (tokens != PADDING)
        heard = np.where(lost, UNKNOWN, heard)
        memory = self.policy.read(_heard(heard, recipe))
        while not walkers.over.all():
            step, memory = _step(self.policy, walkers, memory, tokens, choice, recipe, mirror, self.sight)
            yield step


@dataclass
class Step:
    """One step of a batch, as learned from."""

    logits: Tensor
    values: Tensor
    actions: Tensor
    teacher: Tensor
    rewards: Tensor
    running: Tensor


def _step(
    policy: Policy,
    walkers: Walkers,
    memory: Memory,
    tokens: NDArray[np.int32],
    choice: Choice,
    recipe: Recipe,
    mirror: bool,
    sight: Sight | None,
) -> tuple[Step, Memory]:
    features = walkers.features()
    for name in recipe.without:
        if name != WORDS:
            features[..., FEATURES.index(name)] = 0.0
    if mirror:
        features[..., SINES] *= -1
        features[..., [LEFT, RIGHT]] = features[..., [RIGHT, LEFT]]
    seen = None
    if sight is not None:
        seen = torch.from_numpy(sight.matches(walkers, tokens[:, : memory.words.shape[1]]))
    mask = torch.from_numpy(walkers.mask())
    logits, values, candidates, memory = policy.step(memory, torch.from_numpy(features), mask, seen)
    right = torch.from_numpy(walkers.faithful() if recipe.teacher == "faithful" else walkers.shortest())
    if choice == "teacher":
        actions = right
    elif choice == "best":
        actions = logits.argmax(dim=1)
    else:
        actions = torch.multinomial(torch.softmax(logits.detach(), dim=1), 1).squeeze(1)
    running = torch.from_numpy(~walkers.over).float()
    outcome = walkers.act(actions.numpy())
    rewards = torch.from_numpy(outcome.rewards).float()
    return Step(logits, values, actions, right, rewards, running), policy.take(memory, candidates, actions)


def _heard(tokens: NDArray[Any], recipe: Recipe) -> Tensor:
    """Return what is heard of instructions: all of it, or nothing but their length."""
    return torch.from_numpy(np.where(tokens == PADDING, PADDING, UNKNOWN) if WORDS in recipe.without else tokens)


def mirrored_words(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the number of each word's mirror image, which for most is the word itself."""
    numbers = np.arange(len(vocabulary))
    for one, other in MIRRORED.items():
        if one in vocabulary.numbers and other in vocabulary.numbers:
            a, b = vocabulary.numbers[one], vocabulary.numbers[other]
            numbers[a], numbers[b] = b, a
    return numbers


@torch.no_grad()
def walk_all(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> list[list[str]]:
    """Walk every task greedily and return the paths."""
    return [path for _, walkers in _greedy(policy, tasks, recipe, sight) for path in walkers.paths()]


@torch.no_grad()
def evaluate(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> Row:
    """Walk every task greedily and return SR, nDTW and SDTW, and the mean length of the walks."""
    success, ndtw, walked = [], [], []
    for count, walkers in _greedy(policy, tasks, recipe, sight):
        progress = walkers.progress()
        success.append((progress.to_goal <= recipe.threshold)[:count])
        ndtw.append(progress.ndtw[:count])
        walked.append(progress.walked[:count])
    met, faithful = np.concatenate(success), np.concatenate(ndtw)
    return {
        "SR": float(met.mean()),
        "nDTW": float(faithful.mean()),
        "SDTW": float((met * faithful).mean()),
        "PL": float(np.concatenate(walked).mean()),
    }


def _greedy(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None) -> Any:
    was_training = policy.training
    policy.eval()
    for start in range(0, len(tasks), EVALUATED_AT_ONCE):
        episodes = np.arange(start, min(start + EVALUATED_AT_ONCE, len(tasks)))
        walkers = Walkers(tasks, len(episodes), threshold=recipe.threshold, most_steps=recipe.most_steps)
        walkers.begin(episodes)
        tokens = tasks.tokens[episodes]
        memory = policy.read(_heard(tokens, recipe))
        while not walkers.over.all():
            _, memory = _step(policy, walkers, memory, tokens, "best", recipe, False, sight)
        yield len(episodes), walkers
    policy.train(was_training)


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Read a checkpoint."""
    file = folder / "checkpoint.pt" if folder.is_dir() else folder
    try:
        state: dict[str, Any] = torch.load(file, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no checkpoint; train one first") from None
    except Exception as error:
        raise FormatError(f"{file}: is not a checkpoint of wayscore ({error})") from None
    return state


def load_policy(folder: Path) -> tuple[Policy, Recipe, Vocabulary]:
    """Return the policy of a checkpoint, ready to walk, how it was trained and the words that it knows."""
    state = load_checkpoint(folder)
    policy = Policy(Shape(**state["shape"]))
    policy.load_state_dict(state["policy"])
    policy.eval()
    return policy, replace(Recipe(), **state["recipe"]), Vocabulary(state["vocabulary"])
