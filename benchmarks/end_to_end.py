"""Prints how long `wayscore score` takes from a cold start, beside reading the same files with Python's own modules.

python benchmarks/end_to_end.py                          # generated files, or R2R's where WAYSCORE_DATA says
python benchmarks/end_to_end.py RUN REFERENCES GRAPHS    # files of your own
"""

from wayscore.benchmarks.end_to_end import main

if __name__ == "__main__":
    main()
