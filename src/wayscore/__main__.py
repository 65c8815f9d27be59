"""`python -m wayscore` is `wayscore`."""

from wayscore.cli.app import main

if __name__ == "__main__":
    main()
