"""Agents that follow instructions: R4R, the random agent, a policy, its training, and Table 2."""
