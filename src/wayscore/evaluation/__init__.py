"""Evaluation: arrays or files in, scores and results out; comparisons and validation."""
