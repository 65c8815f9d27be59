"""The policy: it reads an instruction and scores the candidates (stopping, and each neighbour).

Words are read by a bidirectional LSTM. At every step a second LSTM, fed with the last candidate taken, attends to the
candidates. Its state attends to the words; a candidate's logit is a bilinear form of its features and of the words
attended to.

The second LSTM is never fed with words, so only its own recurrence has to go step by step: the attention to words and
the logits of all steps of a batch are computed at once (`judge`), as products of large matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from wayscore.rewards.batch import FEATURE_COUNT

NEVER = -1e9


@dataclass(frozen=True)
class Shape:
    """The size of the vocabulary, of a word's embedding and of a state, and what else a policy is made of."""

    words: int
    embedding: int = 64
    hidden: int = 128
    dropout: float = 0.2  # the share of values that are dropped in training, the same ones in all steps of an episode
    seen: bool = False  # whether words that are seen in the direction of a candidate are matched with the instruction


class Reading(NamedTuple):
    """Instructions as read, one row per environment."""

    words: Tensor  # (num_envs, words, hidden)
    padding: Tensor  # (num_envs, words): true beyond the instruction
    telling: Tensor  # (num_envs, words): how informative it is that a word is seen
    keep: Tensor  # (num_envs, hidden): the dropout mask of a state


class State(NamedTuple):
    """What agents remember between steps, one row per agent."""

    hidden: Tensor
    cell: Tensor
    taken: Tensor  # (agents, hidden): the candidate that was taken last

    def of(self, agents: Tensor) -> State:
        """Return the rows of some agents."""
        return State(*(part[agents] for part in self))


class Look(NamedTuple):
    """What some agents decide about, at one step or at many, one row per decision."""

    row: Tensor  # the environment of each decision
    step: Tensor  # the step of each decision, from 0
    hidden: Tensor
    candidates: Tensor  # (decisions, candidates, hidden)
    mask: Tensor  # (decisions, candidates): which candidates are possible
    seen: Tensor | None
    """(decisions, candidates, words): how informative it is that a word is seen there; 0 if it is not."""

    @classmethod
    def joined(cls, looks: Sequence[Look]) -> Look:
        """Return the decisions of several steps, as one."""
        width = max(look.mask.shape[1] for look in looks)

        def join(name: str) -> Any:
            parts = [getattr(look, name) for look in looks]
            if parts[0] is None or parts[0].dim() == 1 or name == "hidden":
                return None if parts[0] is None else torch.cat(parts)
            return torch.cat([nn.functional.pad(p, (0, 0) * (p.dim() - 2) + (0, width - p.shape[1])) for p in parts])

        return cls(*map(join, cls._fields))


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
        self.match = nn.Linear(2, 1, bias=False)
        nn.init.zeros_(self.telling.weight)
        nn.init.zeros_(self.match.weight)

    def read(self, tokens: Tensor) -> tuple[Reading, State]:
        """Read instructions, (num_envs, words), and return them with the first states."""
        lengths = (tokens > 0).sum(dim=1).clamp(min=1)
        tokens = tokens[:, : int(lengths.max())]
        padding = torch.arange(tokens.shape[1]) >= lengths[:, None]
        embedded = self.embed(tokens) * self._kept(len(tokens), self.shape.embedding)[:, None, :]
        # Long and short instructions in two groups: few are as long as the longest, and all are read to that length.
        longest_first = lengths.argsort(descending=True, stable=True)
        halves = [half for half in longest_first.tensor_split(2) if len(half)]
        read = [self._read(embedded[half], lengths[half]) for half in halves]
        width = tokens.shape[1]
        words = torch.cat([nn.functional.pad(part, (0, 0, 0, width - part.shape[1])) for part, _ in read])
        place = longest_first.argsort()
        hidden = torch.tanh(self.begin(torch.cat([last for _, last in read])))[place]
        keep = self._kept(len(tokens), self.shape.hidden)
        telling = torch.sigmoid(self.telling(tokens).squeeze(2)) * ~padding
        empty = torch.zeros_like(hidden)
        return Reading(words[place] * keep[:, None, :], padding, telling, keep), State(hidden, empty, empty)

    def _read(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Read in both directions; return the words and, for each instruction, where both directions end."""
        embedded = embedded[:, : int(lengths.max())]
        # Reversed within each instruction's own length, so that plain LSTMs suffice: their backward pass is fast.
        order = (lengths[:, None] - 1 - torch.arange(embedded.shape[1])).clamp(min=0)[..., None]
        forth, _ = self.forth(embedded)
        back, _ = self.back(embedded.gather(1, order.expand_as(embedded)))
        back = back.gather(1, order.expand_as(back))
        last = torch.cat((forth[torch.arange(len(lengths)), lengths - 1], back[:, 0]), dim=1)
        return torch.cat((forth, back), dim=2), last

    def advance(self, keep: Tensor, state: State, features: Tensor, mask: Tensor) -> tuple[State, Tensor]:
        """Look at the candidates and return the next states and the candidates as seen, (agents, candidates, hidden).

        `keep` are the dropout masks, (agents, hidden); `features` and `mask` are those of `Observation`.
        """
        candidates = features.new_zeros(*mask.shape, self.shape.hidden)
        candidates[mask] = self.look(features[mask])  # the others, which are most, have no weight anywhere
        question = self.ask_candidates(state.hidden * keep)
        weights = torch.bmm(candidates, question[:, :, None]).squeeze(2).masked_fill(~mask, NEVER).softmax(dim=1)
        around = torch.bmm(weights[:, None, :], candidates).squeeze(1)
        hidden, cell = self.decide(torch.cat((state.taken, around), dim=1), (state.hidden, state.cell))
        return State(hidden, cell, state.taken), candidates

    def judge(self, reading: Reading, look: Look) -> tuple[Tensor, Tensor]:
        """Return logits, (decisions, candidates), and values, (decisions,)."""
        keep = reading.keep[look.row]
        kept = look.hidden * keep
        asked = kept.new_zeros(len(reading.words), int(look.step.max()) + 1, self.shape.hidden)
        asked[look.row, look.step] = self.ask_words(kept)
        fits = torch.bmm(asked, reading.words.transpose(1, 2)).masked_fill(reading.padding[:, None, :], NEVER)
        attention = fits.softmax(dim=2)
        attended = torch.bmm(attention, reading.words)[look.row, look.step]
        joined = torch.tanh(self.join(torch.cat((kept, attended), dim=1))) * keep
        logits = torch.bmm(look.candidates, self.choose(joined)[:, :, None]).squeeze(2)
        if look.seen is not None:
            # How many of the instruction's words are seen: of those attended to now, and of all.
            telling = reading.telling[look.row]
            weights = torch.stack((10.0 * attention[look.row, look.step] * telling, telling), dim=2)
            logits = logits + self.match(torch.bmm(look.seen, weights)).squeeze(2)
        return logits.masked_fill(~look.mask, NEVER), self.value(joined).squeeze(1)

    def _kept(self, count: int, width: int) -> Tensor:
        if not self.training or not self.shape.dropout:
            return torch.ones(count, width)
        share = 1 - self.shape.dropout
        return torch.bernoulli(torch.full((count, width), share)) / share
