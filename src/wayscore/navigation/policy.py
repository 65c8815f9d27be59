"""The policy: it reads an instruction and scores the candidates (stopping, and each neighbour).

Words are read by a bidirectional LSTM. At every step a second LSTM, fed with the last candidate taken, attends to the
words and to the candidates; a candidate's logit is a bilinear form of its features and the words attended to.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from wayscore.navigation.terrain import FEATURE_COUNT

NEVER = -1e9


@dataclass(frozen=True)
class Shape:
    """How large a policy is.

    Attributes:
        words: size of the vocabulary.
        embedding: size of a word's embedding.
        hidden: size of a state.
        dropout: share of values that are dropped in training, the same ones in all steps of an episode.
        seen: whether words that are seen in the direction of a candidate are matched with the instruction.
    """

    words: int
    embedding: int = 64
    hidden: int = 128
    dropout: float = 0.2
    seen: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


class Memory(NamedTuple):
    """The state of an agent between steps, one row per environment."""

    words: Tensor
    """(num_envs, words, hidden): the instruction as read."""
    padding: Tensor
    """(num_envs, words): true beyond the instruction."""
    hidden: Tensor
    cell: Tensor
    taken: Tensor
    """(num_envs, hidden): the candidate that was taken last."""
    keep: Tensor
    """(num_envs, hidden): the dropout mask of a state."""
    telling: Tensor
    """(num_envs, words): how informative it is that a word is seen."""


class Policy(nn.Module):
    """From words and candidates to logits and values."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        hidden = shape.hidden
        self.embed = nn.Embedding(shape.words, shape.embedding, padding_idx=0)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.forth = nn.LSTM(shape.embedding, hidden // 2, batch_first=True)
        self.back = nn.LSTM(shape.embedding, hidden // 2, batch_first=True)
        self.begin = nn.Linear(hidden, hidden)
        self.look = nn.Sequential(nn.Linear(FEATURE_COUNT, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.decide = nn.LSTMCell(2 * hidden, hidden)
        self.ask_candidates = nn.Linear(hidden, hidden, bias=False)
        self.ask_words = nn.Linear(hidden, hidden, bias=False)
        self.join = nn.Linear(2 * hidden, hidden)
        self.choose = nn.Linear(hidden, hidden)
        self.value = nn.Sequential(nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, 1))
        self.telling = nn.Embedding(shape.words, 1)
        self.match = nn.Linear(3, 1, bias=False)
        nn.init.zeros_(self.telling.weight)
        nn.init.zeros_(self.match.weight)

    def read(self, tokens: Tensor) -> Memory:
        """Read instructions, (num_envs, words), and return the first state."""
        lengths = (tokens > 0).sum(dim=1).clamp(min=1)
        tokens = tokens[:, : int(lengths.max())]
        padding = torch.arange(tokens.shape[1]) >= lengths[:, None]
        keep = self._kept(len(tokens), self.shape.embedding)[:, None, :]
        # Reversed within each instruction's own length, so that plain LSTMs suffice: their backward pass is fast.
        order = (lengths[:, None] - 1 - torch.arange(tokens.shape[1])).clamp(min=0)
        forth, _ = self.forth(self.embed(tokens) * keep)
        back, _ = self.back(self.embed(tokens.gather(1, order)) * keep)
        back = back.gather(1, order[..., None].expand_as(back))
        words = torch.cat((forth, back), dim=2)
        last = torch.cat((forth[torch.arange(len(tokens)), lengths - 1], back[:, 0]), dim=1)
        hidden = torch.tanh(self.begin(last))
        taken = torch.zeros_like(hidden)
        kept = self._kept(len(tokens), self.shape.hidden)
        telling = torch.sigmoid(self.telling(tokens).squeeze(2)) * ~padding
        return Memory(words * kept[:, None, :], padding, hidden, torch.zeros_like(hidden), taken, kept, telling)

    def step(
        self, memory: Memory, features: Tensor, mask: Tensor, seen: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Memory]:
        """Look at the candidates and return logits, values, the candidates as seen, and the memory.

        Args:
            memory: of the step before.
            features: (num_envs, candidates, features).
            mask: (num_envs, candidates), which candidates are possible.
            seen: (num_envs, candidates, words), whether a word of the instruction is seen in a candidate's direction.
        """
        candidates = features.new_zeros(*mask.shape, self.shape.hidden)
        candidates[mask] = self.look(features[mask])  # the others, which are most, have no weight anywhere
        weights = self._attend(self.ask_candidates(memory.hidden * memory.keep), candidates, ~mask)
        around = self._mean(weights, candidates)
        hidden, cell = self.decide(torch.cat((memory.taken, around), dim=1), (memory.hidden, memory.cell))
        kept = hidden * memory.keep
        attention = self._attend(self.ask_words(kept), memory.words, memory.padding)
        attended = self._mean(attention, memory.words)
        joined = torch.tanh(self.join(torch.cat((kept, attended), dim=1))) * memory.keep
        logits = self._dot(candidates, self.choose(joined))
        if seen is not None:
            logits = logits + self.match(self._matches(attention, memory.telling, seen)).squeeze(2)
        logits = logits.masked_fill(~mask, NEVER)
        return logits, self.value(joined).squeeze(1), candidates, memory._replace(hidden=hidden, cell=cell)

    @staticmethod
    def take(memory: Memory, candidates: Tensor, actions: Tensor) -> Memory:
        """Remember the candidates that were taken."""
        return memory._replace(taken=candidates[torch.arange(len(actions)), actions])

    @staticmethod
    def _dot(answers: Tensor, question: Tensor) -> Tensor:
        """Return the product of each answer, (num_envs, answers, hidden), with its question, (num_envs, hidden)."""
        return torch.bmm(answers, question[:, :, None]).squeeze(2)

    @staticmethod
    def _mean(weights: Tensor, answers: Tensor) -> Tensor:
        """Return the weighted mean of answers, (num_envs, hidden)."""
        return torch.bmm(weights[:, None, :], answers).squeeze(1)

    @classmethod
    def _attend(cls, question: Tensor, answers: Tensor, hidden: Tensor) -> Tensor:
        return torch.softmax(cls._dot(answers, question).masked_fill(hidden, NEVER), dim=1)

    @staticmethod
    def _matches(attention: Tensor, telling: Tensor, seen: Tensor) -> Tensor:
        """How many of the instruction's words are seen: of those attended to, of all, and relative to others."""
        now, ever = torch.bmm(seen, torch.stack((10.0 * attention * telling, telling), dim=2)).unbind(dim=2)
        return torch.stack((now, ever, now - now.mean(dim=1, keepdim=True)), dim=2)

    def _kept(self, count: int, width: int) -> Tensor:
        if not self.training or not self.shape.dropout:
            return torch.ones(count, width)
        share = 1 - self.shape.dropout
        return torch.bernoulli(torch.full((count, width), share)) / share
