"""Rewards, the Gymnasium wrapper and environments, and rewards for fine-tuning language models."""
