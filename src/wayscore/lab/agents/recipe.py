"""A recipe: all settings of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Recipe:
    """The settings of a training; the defaults are those for R2R.

    Attributes:
        reward: the reward function of the second stage, by name.
        teacher: what the first stage imitates: "faithful" follows the reference, "shortest" goes to its end.
        imitation: updates of the first stage.
        reinforcement: updates of the second stage.
        batch: episodes per update.
        student: share of batches of the first stage in which the agent takes its own actions, corrected by the teacher.
        rate: learning rate of the first stage, which decreases linearly to 0.
        reinforcement_rate: learning rate of the second stage, which decreases linearly to 0.
        guidance: weight of the imitation loss in the second stage.
        guided: share of the second stage's updates that have an imitation loss.
        discount: discount factor of later rewards.
        entropy: weight of the entropy bonus.
        value: weight of the value loss.
        word_dropout: share of words that are replaced by the unknown word.
        mirror: whether half of the batches have left and right exchanged.
        without: features that are hidden from the agent (see `FEATURES`), or "words", for ablations.
        embedding: size of a word's embedding.
        hidden: size of a state.
        dropout: share of a state that is dropped.
        threshold: d_th, metres.
        max_episode_steps: largest number of moves per episode in training.
        max_test_steps: the same in evaluations; so large that metrics hardly depend on it.
        every: updates between evaluations and checkpoints.
        seed: random seed of the training.
    """

    reward: str = "fidelity"
    teacher: Literal["faithful", "shortest"] = "faithful"
    imitation: int = 2_000
    reinforcement: int = 1_000
    batch: int = 64
    student: float = 0.5
    rate: float = 2e-3
    reinforcement_rate: float = 1e-3
    guidance: float = 0.3
    guided: float = 0.3
    discount: float = 0.95
    entropy: float = 0.01
    value: float = 0.25
    word_dropout: float = 0.0
    mirror: bool = True
    without: tuple[str, ...] = ()
    embedding: int = 64
    hidden: int = 128
    dropout: float = 0.0
    threshold: float = 3.0
    max_episode_steps: int = 15
    max_test_steps: int = 30
    every: int = 250
    seed: int = 0
