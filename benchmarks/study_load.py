"""Prints how the study's server fares with many raters at once, on SQLite and PostgreSQL, and when it is killed.

python benchmarks/study_load.py                             # 200 raters, 50 sets each, 10 kills
python benchmarks/study_load.py --raters 20 --sets 10 --kills 3 --only sqlite
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # its servers and robots are those of the tests

from tests.study_web.load import main

if __name__ == "__main__":
    main()
