"""Claims about metrics as experiments: how a metric responds to a change, and what it says of real systems."""
