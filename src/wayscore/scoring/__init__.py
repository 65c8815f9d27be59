"""Scoring: arrays in, one number per episode and metric out."""

from wayscore.scoring.score import WARPED, score
from wayscore.scoring.table import ScoreTable

__all__ = ["WARPED", "ScoreTable", "score"]
