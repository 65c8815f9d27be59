"""Measurements against peers, on this machine and in one run: `python -m benchmarks`.

Every row checks that both sides compute the same thing before it says which is faster.
"""
