"""The `wayscore` command: one file for each verb, each a plain function with the same arguments."""
