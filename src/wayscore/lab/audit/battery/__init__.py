"""Experiments that change episodes, and the claims about metrics that they confirm or refute."""

from wayscore.lab.audit.battery.battery import Battery as Battery
