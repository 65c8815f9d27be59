"""Scores in bounded memory: runs of any length, a piece at a time, over all cores or a cluster."""
