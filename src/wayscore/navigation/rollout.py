"""Rollouts of a policy: single steps of a batch, whole episodes, and policies from checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wayscore.errors import FormatError
from wayscore.navigation.policy import Memory, Policy, Shape
from wayscore.navigation.recipe import Recipe
from wayscore.navigation.sight import Sight
from wayscore.navigation.tasks import Tasks
from wayscore.navigation.terrain import FEATURES
from wayscore.navigation.walking import Walkers
from wayscore.navigation.words import PADDING, UNKNOWN, Vocabulary

Choice = Literal["teacher", "sample", "best"]
Row = dict[str, float | int | str]
SINES = [FEATURES.index(f"sin {times}h") for times in (1, 2, 3)]
LEFT, RIGHT = FEATURES.index("left"), FEATURES.index("right")
MIRRORED = {"left": "right", "lefthand": "righthand", "leftmost": "rightmost", "east": "west"}
WORDS = "words"
EVALUATED_AT_ONCE = 256


@dataclass
class Step:
    """One step of a batch, with everything that the losses need."""

    logits: Tensor
    values: Tensor
    actions: Tensor
    teacher: Tensor
    rewards: Tensor
    running: Tensor


def take_step(
    policy: Policy,
    walkers: Walkers,
    memory: Memory,
    tokens: NDArray[np.int32],
    choice: Choice,
    recipe: Recipe,
    mirror: bool,
    sight: Sight | None,
) -> tuple[Step, Memory]:
    """Let the policy take one step in every environment."""
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


def heard(tokens: NDArray[Any], recipe: Recipe) -> Tensor:
    """Return the instructions that the agent reads: the words, or as many unknown words."""
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
    """Roll the policy out greedily on every task and return the paths."""
    return [path for _, walkers in _greedy(policy, tasks, recipe, sight) for path in walkers.paths()]


@torch.no_grad()
def evaluate(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None = None) -> Row:
    """Roll the policy out greedily on every task and return SR, nDTW, SDTW and the mean path length."""
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


def _greedy(policy: Policy, tasks: Tasks, recipe: Recipe, sight: Sight | None) -> Iterator[tuple[int, Walkers]]:
    was_training = policy.training
    policy.eval()
    for start in range(0, len(tasks), EVALUATED_AT_ONCE):
        episodes = np.arange(start, min(start + EVALUATED_AT_ONCE, len(tasks)))
        walkers = Walkers(tasks, len(episodes), threshold=recipe.threshold, max_episode_steps=recipe.max_episode_steps)
        walkers.begin(episodes)
        tokens = tasks.tokens[episodes]
        memory = policy.read(heard(tokens, recipe))
        while not walkers.over.all():
            _, memory = take_step(policy, walkers, memory, tokens, "best", recipe, False, sight)
        yield len(episodes), walkers
    policy.train(was_training)


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Read a checkpoint."""
    file = folder / "checkpoint.pt" if folder.is_dir() else folder
    try:
        state: dict[str, Any] = torch.load(file, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no checkpoint; train an agent first (wayscore train)") from None
    except Exception as error:
        raise FormatError(f"{file}: is not a checkpoint of wayscore ({error})") from None
    if "most_steps" in state["recipe"]:  # as wayscore 0.1 called it
        state["recipe"]["max_episode_steps"] = state["recipe"].pop("most_steps")
    return state


def load_policy(folder: Path) -> tuple[Policy, Recipe, Vocabulary]:
    """Return the policy of a checkpoint, the recipe of its training, and its vocabulary."""
    state = load_checkpoint(folder)
    policy = Policy(Shape(**state["shape"]))
    policy.load_state_dict(state["policy"])
    policy.eval()
    return policy, replace(Recipe(), **state["recipe"]), Vocabulary(state["vocabulary"])
