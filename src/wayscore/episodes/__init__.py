"""Episodes: references, runs, their columnar batches, how the two are matched, and what can be wrong between them."""

from wayscore.episodes.problems import describe, find_problems
from wayscore.episodes.references import POLICIES, Joined, Policy, Query, Reference, References, Run, join

__all__ = [
    "POLICIES",
    "Joined",
    "Policy",
    "Query",
    "Reference",
    "References",
    "Run",
    "describe",
    "find_problems",
    "join",
]
