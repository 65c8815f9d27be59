"""Evaluation: files in, results out; comparisons, validation, and where batches of episodes are scored."""
