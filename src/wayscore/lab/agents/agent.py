"""A trained agent: one policy, or several that decide together, with all that its walks depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from wayscore.errors import OptionError
from wayscore.lab.agents.checkpoints import LONGEST, load_checkpoint, reading_checkpoint
from wayscore.lab.agents.ensemble import Voters, greedy_together
from wayscore.lab.agents.planning import planned
from wayscore.lab.agents.policy import Policy, Shape
from wayscore.lab.agents.recipe import Recipe
from wayscore.lab.agents.rollout import greedy
from wayscore.lab.agents.sight import Sight, WordWeights
from wayscore.rewards.batch import AgentBatch as Walkers
from wayscore.rewards.tasks import Tasks, Vocabulary


@dataclass(frozen=True)
class Agent:
    """A trained agent.

    Attributes:
        policies: one, or several that decide together.
        recipe: the settings of its training.
        vocabulary: the words that it knows.
        words: how many words of an instruction it reads.
        weights: how informative seen words are, as it learned them; None if it sees none.
    """

    policies: tuple[Policy, ...]
    recipe: Recipe
    vocabulary: Vocabulary
    words: int
    weights: WordWeights | None

    def walk(
        self, tasks: Tasks, sight: Sight | None = None, *, beam: int | None = None, mirror: bool = False
    ) -> Iterator[Walkers]:
        """Yield walkers when they have walked, some at a time.

        Args:
            tasks: the episodes, in the words of the agent's vocabulary.
            sight: the words that are seen in the scenes.
            beam: plan ahead, with so many imagined walks at once (see `planned`); by default, take the likeliest step.
            mirror: whether policies also vote on the mirror image.
        """
        if beam is None and not mirror and len(self.policies) == 1:
            return greedy(self.policies[0], tasks, self.recipe, sight)
        voters = Voters(self.policies, tasks, self.recipe, sight, mirror=mirror)
        return greedy_together(voters) if beam is None else planned(voters, beam)

    def paths(
        self, tasks: Tasks, sight: Sight | None = None, *, beam: int | None = None, mirror: bool = False
    ) -> list[list[str]]:
        """Return the path of every episode; see `walk`."""
        walked = self.walk(tasks, sight, beam=beam, mirror=mirror)
        return [path for walkers in walked for path in walkers.paths()]


def load_agent(*folders: Path) -> Agent:
    """Return the agent of a checkpoint, or of several that decide together; they must read the same words."""
    agents = [_load(folder) for folder in folders]
    first = agents[0]
    for folder, agent in zip(folders, agents, strict=True):
        if (agent.vocabulary.known, agent.words, agent.weights) != (first.vocabulary.known, first.words, first.weights):
            raise OptionError(
                f"{folder}: reads other words than {folders[0]}; give agents that were trained on one file"
            )
    return replace(first, policies=tuple(policy for agent in agents for policy in agent.policies))


def _load(folder: Path) -> Agent:
    with reading_checkpoint(folder):
        state = load_checkpoint(folder)
        policy = Policy(Shape(**state["shape"]))
        policy.load_state_dict(state["policy"])
        recipe = replace(Recipe(), **state["recipe"])
        if not 0 < (words := int(state["words"])) <= LONGEST:
            raise ValueError(f"it reads {words} words")
        return Agent((policy.eval(),), recipe, Vocabulary(state["vocabulary"]), words, state["word_weights"])
