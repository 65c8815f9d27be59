"""Agents: R4R, baselines, rewards, a Gymnasium environment, a policy and its training."""
