"""Training in two stages: imitation of a teacher, then A2C with a reward; resuming gives bit-identical results."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wayscore.errors import OptionError
from wayscore.lab.agents.agent import evaluate
from wayscore.lab.agents.checkpoints import CHECKPOINT, CURVE, Recipe, load_checkpoint, write_checkpoint
from wayscore.lab.agents.data import Sight
from wayscore.lab.agents.policy import Look, Policy, Shape
from wayscore.lab.agents.rollout import WORDS, Choice, Row, Step, heard, mirrored_words, roll
from wayscore.rewards.batch import FEATURES, AgentBatch
from wayscore.rewards.tasks import PADDING, UNKNOWN, Tasks
from wayscore.writing import clear_unfinished, write_whole


class Trainer:
    """A policy in training: it learns from `tasks`, is evaluated on `dev`, and begins with the weights `start`."""

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
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=recipe.rate, foreach=True)
        self.updates = 0
        self.seconds = 0.0
        """CPU seconds spent, evaluations included."""
        self.returns, self.advantages = Running(), Running()
        self.curve: list[Row] = []
        self._walkers = AgentBatch(
            tasks,
            recipe.batch,
            reward=recipe.reward,
            threshold=recipe.threshold,
            max_episode_steps=recipe.max_episode_steps,
        )
        self._mirrored = mirrored_words(tasks.vocabulary)
        self._left = np.empty(0, dtype=np.int64)

    @property
    def total(self) -> int:
        """All updates of both stages."""
        return self.recipe.imitation + self.recipe.reinforcement

    def run(self, folder: Path | None = None, progress: Callable[[int, Row | None], None] | None = None) -> Policy:
        """Train to the end; with a folder, save a checkpoint and the learning curve there from time to time.

        `progress` is called after every update, with its number and the new row of the curve, or None.
        """
        torch.set_num_threads(1)
        if folder is not None:
            for name in (CHECKPOINT, CURVE):
                clear_unfinished(folder / name)
        while self.updates < self.total:
            started = time.process_time()
            losses = self.update()
            row: Row | None = None
            if self.updates % self.recipe.every == 0 or self.updates == self.total:
                row = {"update": self.updates, "stage": self._stage(self.updates - 1), **losses}
                if self.dev is not None:
                    row |= evaluate(self.policy, self.dev, self.recipe, self.sight)
                self.curve.append(row)
            self.seconds += time.process_time() - started
            if row is not None and folder is not None:
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
        made = self.updates if first else self.updates - recipe.imitation
        length = recipe.imitation if first else recipe.reinforcement
        rate = (recipe.rate if first else recipe.reinforcement_rate) * (1 - made / length)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.policy.train()
        if first:
            loss = self._imitate("sample" if self.rng.random() < recipe.student else "teacher")
            losses: Row = {"loss": float(loss.detach())}
        else:
            loss, losses = self._reinforce()
            if self.rng.random() < recipe.guided:
                loss = loss + recipe.guidance * self._imitate("teacher")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.optimizer.step()
        self.updates += 1
        return losses

    def save(self, folder: Path) -> None:
        """Write the checkpoint and the curve, each completely or not at all."""
        state = {
            "recipe": asdict(self.recipe),
            "shape": asdict(self.policy.shape),
            "vocabulary": list(self.tasks.vocabulary.known),
            "words": self.tasks.tokens.shape[1],
            "word_weights": None if self.sight is None else self.sight.weights,
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "updates": self.updates,
            "seconds": self.seconds,
            "returns": asdict(self.returns),
            "advantages": asdict(self.advantages),
            "curve": self.curve,
            "left": self._left.tolist(),
            "numpy": self.rng.bit_generator.state,
            "torch": torch.get_rng_state(),
        }
        names = list(dict.fromkeys(name for row in self.curve for name in row))
        table = io.StringIO(newline="")
        writer = csv.DictWriter(table, names, restval="")
        writer.writeheader()
        writer.writerows(self.curve)
        # The curve first: a training that has written its last checkpoint never writes a curve again.
        write_whole(folder / CURVE, table.getvalue().encode(), folders=True)
        write_checkpoint(folder / CHECKPOINT, state)

    def resume(self, folder: Path) -> None:
        """Continue from a checkpoint that has the same recipe."""
        state = load_checkpoint(folder)
        if state["recipe"] != asdict(self.recipe):
            changed = [name for name, value in asdict(self.recipe).items() if state["recipe"].get(name) != value]
            raise OptionError(
                f"{folder}: was trained with other settings ({', '.join(changed)}); give the same options, or another "
                "folder"
            )
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.returns, self.advantages = Running(**state["returns"]), Running(**state["advantages"])
        self.updates, self.seconds, self.curve = state["updates"], state["seconds"], state["curve"]
        self._left = np.array(state["left"], dtype=np.int64)
        self.rng.bit_generator.state = state["numpy"]
        torch.set_rng_state(state["torch"])

    def _stage(self, update: int) -> str:
        return "imitation" if update < self.recipe.imitation else "reinforcement"

    def _draw(self) -> NDArray[np.int64]:
        """Return a batch of episodes: in random order, all of them once before any is repeated."""
        if len(self._left) < self.recipe.batch:
            rounds = -(-self.recipe.batch // len(self.tasks))
            self._left = np.concatenate([self.rng.permutation(len(self.tasks)) for _ in range(rounds)])
        batch, self._left = self._left[: self.recipe.batch], self._left[self.recipe.batch :]
        return batch

    def _imitate(self, choice: Choice) -> Tensor:
        """Return the cross entropy of the teacher's actions, a sum over each episode."""
        steps, logits, _ = self._walk(choice)
        teacher = torch.cat([step.teacher for step in steps])
        return nn.functional.cross_entropy(logits, teacher, reduction="sum") / self.recipe.batch

    def _reinforce(self) -> tuple[Tensor, Row]:
        """Return the loss of A2C with the returns of whole episodes.

        The critic learns standardised returns, and advantages are divided by their running size: multiplying a reward
        by a constant changes nothing.
        """
        recipe = self.recipe
        steps, logits, values = self._walk("sample")
        after, found = np.zeros(recipe.batch), []
        for step in reversed(steps):
            row = step.look.row.numpy()
            after[row] = step.rewards + recipe.discount * after[row]
            found.append(after[row])
        returns = np.concatenate(found[::-1])
        self.returns.add(returns)
        target = torch.from_numpy(self.returns.standardised(returns)).float()
        advantage = (target - values).detach()
        self.advantages.add(advantage.numpy())
        advantage = advantage / self.advantages.size
        logs = logits.log_softmax(dim=1)
        taken = logs.gather(1, torch.cat([step.actions for step in steps])[:, None]).squeeze(1)
        entropy = -(logs.exp() * logs).sum(dim=1)
        loss = -taken * advantage - recipe.entropy * entropy + recipe.value * (target - values) ** 2
        total = loss.sum() / recipe.batch
        gained = math.fsum(float(step.rewards.sum()) for step in steps) / recipe.batch
        return total, {"loss": float(total.detach()), "reward": gained}

    def _walk(self, choice: Choice) -> tuple[list[Step], Tensor, Tensor]:
        """Roll out a batch of episodes; return every step, and the logits and values of all steps in one."""
        recipe, walkers = self.recipe, self._walkers
        episodes = self._draw()
        walkers.begin(episodes)
        tokens = self.tasks.tokens[episodes]
        mirror = recipe.mirror and self.rng.random() < 0.5
        words = self._mirrored[tokens] if mirror else tokens
        lost = (self.rng.random(tokens.shape) < recipe.word_dropout) & (tokens != PADDING)
        reading, state = self.policy.read(heard(np.where(lost, UNKNOWN, words), recipe))
        steps = list(roll(self.policy, walkers, reading, state, choice, recipe, mirror=mirror, sight=self.sight))
        logits, values = self.policy.judge(reading, Look.joined([step.look for step in steps]))
        return steps, logits, values


@dataclass
class Running:
    """The running mean and mean square of numbers, of which the newest batch counts for a twentieth."""

    mean: float = 0.0
    square: float = 0.0
    begun: bool = False

    def add(self, batch: NDArray[Any]) -> None:
        """Take a batch of numbers into account."""
        kept = 0.95 if self.begun else 0.0
        self.mean = kept * self.mean + (1 - kept) * float(batch.mean(dtype=np.float64))
        self.square = kept * self.square + (1 - kept) * float((batch.astype(np.float64) ** 2).mean())
        self.begun = True

    @property
    def size(self) -> float:
        """The root of the mean square; 1 if all numbers are 0."""
        return self.square**0.5 or 1.0

    def standardised(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Return numbers less the mean, in standard deviations."""
        variance = self.square - self.mean**2
        # Numbers that are all alike have a variance of 0, up to rounding.
        return (batch - self.mean) / (variance**0.5 if variance > 1e-12 * self.square else 1.0)
