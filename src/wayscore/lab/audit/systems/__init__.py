"""Metrics on the runs of real systems: rankings, and how much they can be trusted."""

from wayscore.lab.audit.systems.systems import Systems as Systems
