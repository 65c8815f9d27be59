"""How sure a number is: bootstrap intervals, paired tests, the sign test, rank correlations."""

from wayscore.statistics.tests import *  # noqa: F403
