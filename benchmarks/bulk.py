"""Prints what streaming costs beside the kernel in memory: rates, memory, growth, JSON lines.

python benchmarks/bulk.py                      # ten million walks
python benchmarks/bulk.py --walks 1000000
"""

from wayscore.benchmarks.bulk import main

if __name__ == "__main__":
    main()
