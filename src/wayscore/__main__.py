"""`python -m wayscore` is `wayscore`."""

from wayscore.cli import main

if __name__ == "__main__":
    main()
