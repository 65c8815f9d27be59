"""Metrics on the runs of real systems: rankings, and how much they can be trusted."""

from wayscore.auditing.systems.systems import Systems as Systems
