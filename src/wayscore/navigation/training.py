"""Training in two stages: imitation of a teacher, then A2C with a reward; resuming gives bit-identical results."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wayscore.errors import OptionError
from wayscore.navigation.policy import Policy, Shape
from wayscore.navigation.recipe import Recipe
from wayscore.navigation.rollout import WORDS, Choice, Row, evaluate, heard, load_checkpoint, mirrored_words, take_step
from wayscore.navigation.sight import Sight
from wayscore.navigation.tasks import Tasks
from wayscore.navigation.terrain import FEATURES
from wayscore.navigation.walking import Walkers
from wayscore.navigation.words import PADDING, UNKNOWN


class Trainer:
    """A policy in training.

    Args:
        tasks: the training data.
        recipe: the settings.
        dev: the data for evaluation during training; nothing is learned from it.
        sight: the words that are seen in the scenes, if views are given.
        start: weights to start from.
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

        Args:
            folder: where `checkpoint.pt` and `curve.csv` are written.
            progress: called after every update, with its number and the new row of the curve, or None.
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
        """Write the checkpoint and the curve; a process that is killed never leaves incomplete files."""
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
        # The curve first: a training that has written its last checkpoint never writes a curve again.
        os.replace(folder / "curve.tmp", folder / "curve.csv")
        torch.save(state, folder / "checkpoint.tmp")
        os.replace(folder / "checkpoint.tmp", folder / "checkpoint.pt")

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
        self.updates, self.spread, self.curve = state["updates"], state["spread"], state["curve"]
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
        steps = list(self._walk(choice))
        logits, teacher, running = (
            torch.cat([getattr(step, name) for step in steps]) for name in ("logits", "teacher", "running")
        )
        costs = nn.functional.cross_entropy(logits, teacher, reduction="none")
        return (costs * running).sum() / self.recipe.batch

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
        """Roll out a batch of episodes and yield every step."""
        recipe, walkers = self.recipe, self._walkers
        episodes = self._draw()
        walkers.begin(episodes)
        tokens = self.tasks.tokens[episodes]
        mirror = recipe.mirror and self.rng.random() < 0.5
        words = self._mirrored[tokens] if mirror else tokens
        lost = (self.rng.random(tokens.shape) < recipe.word_dropout) & (tokens != PADDING)
        words = np.where(lost, UNKNOWN, words)
        memory = self.policy.read(heard(words, recipe))
        while not walkers.over.all():
            step, memory = take_step(self.policy, walkers, memory, tokens, choice, recipe, mirror, self.sight)
            yield step
