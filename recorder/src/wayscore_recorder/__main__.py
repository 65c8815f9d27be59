"""`python -m wayscore_recorder run.jsonl` counts the episodes of a log, and removes an incomplete last line."""

import sys
from typing import List

from wayscore_recorder.logfile import read_log
from wayscore_recorder.recorder import Recorder
from wayscore_recorder.running import RecorderError


def main(logs: List[str]) -> int:
    """Check logs, one line each; return 1 if one is no log, or is being written."""
    if not logs:
        print("usage: python -m wayscore_recorder run.jsonl ...", file=sys.stderr)
        return 2
    status = 0
    for log in logs:
        try:
            records = list(read_log(log))
            Recorder(log).close()
        except (RecorderError, OSError) as error:
            print(error, file=sys.stderr)
            status = 1
        else:
            stopped = sum(record.get("stopped", False) for record in records)
            print(f"{log}: {len(records)} finished episodes, {stopped} of them stopped by the agent")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
