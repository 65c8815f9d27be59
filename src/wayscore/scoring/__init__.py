"""Scoring: arrays in, one number per episode and metric out."""

from wayscore.scoring.score import score
from wayscore.scoring.table import ScoreTable

__all__ = ["ScoreTable", "score"]
