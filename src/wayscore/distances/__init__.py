"""Distances between nodes or points, which all metrics are computed from."""
