"""The human study: comparison sets for people to put in order, and which metric agrees with them best."""
