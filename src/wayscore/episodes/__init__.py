"""Episodes: references, runs, their columnar batches, how the two are matched, and what can be wrong between them."""

from wayscore.episodes.references import Query, Reference, References, Run

__all__ = ["Query", "Reference", "References", "Run"]
