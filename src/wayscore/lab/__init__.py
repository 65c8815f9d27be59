"""The laboratory: the paper's experiments (study, audits, trained agents), which scoring does not need."""
