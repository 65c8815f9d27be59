"""Instructions as numbers: a vocabulary of lower-case words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[a-z]+|\d+|[.,;]")
PADDING, UNKNOWN = 0, 1


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case; full stops and commas are words too.

    >>> words("Turn left, past the sofa.")
    ['turn', 'left', ',', 'past', 'the', 'sofa', '.']
    """
    return _WORD.findall(text.lower())


class Vocabulary:
    """Words and their numbers; 0 is padding, 1 is an unknown word.

    >>> vocabulary = Vocabulary.of(["turn left", "turn right"], least=2)
    >>> vocabulary.encode(["turn around"], 4).tolist()
    [[2, 1, 0, 0]]
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)
        self.numbers = {word: number for number, word in enumerate(self.known, start=2)}

    @classmethod
    def of(cls, texts: Iterable[str], *, least: int = 1) -> Vocabulary:
        """Collect the words that occur at least `least` times, the most frequent first."""
        counts = Counter(word for text in texts for word in words(text))
        return cls(sorted((word for word in counts if counts[word] >= least), key=lambda w: (-counts[w], w)))

    def __len__(self) -> int:
        return len(self.known) + 2

    def encode(self, texts: Sequence[str], length: int) -> NDArray[np.int32]:
        """Return texts as rows of numbers, cut or padded to a length."""
        rows = np.zeros((len(texts), length), dtype=np.int32)
        for row, text in zip(rows, texts, strict=True):
            numbers = [self.numbers.get(word, UNKNOWN) for word in words(text)[:length]]
            row[: len(numbers)] = numbers
        return rows
