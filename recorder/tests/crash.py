"""Kills a program that records episodes, again and again: no finished episode may be missing from the log.

    python tests/crash.py [EPISODES] [SEED]

The program prints the name of every episode when `stop` has returned. It is killed (SIGKILL) at random moments and
started again, which continues the log, until all episodes are finished.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
import warnings

from wayscore_recorder import Recorder, finished

PROGRAM = """
import sys, warnings
import wayscore_recorder as w
warnings.simplefilter("ignore")
path, count = sys.argv[1], int(sys.argv[2])
reference = [[0.25 * n, 0.0, 0.5] for n in range(50)]
log = w.Recorder(path, agent="crash")
for name in range(count):
    if name in log:
        continue
    episode = log.episode(name, "house", reference=reference)
    for n in range(50):
        episode.step([0.25 * n, 0.1, 0.5], heading=0.1 * n, goal_distance=float(n), collided=False)
    episode.recorded["filler"] = "x" * 300000  # a write that takes its time
    episode.stop()
    print(name, flush=True)
"""


def run(folder, episodes, seed):
    """Record episodes under fire; return how often the program was killed and how many lines were incomplete."""
    rng = random.Random(seed)
    path = os.path.join(folder, "run.jsonl")
    kills = incomplete = 0
    printed = set()
    while True:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path, str(episodes)], stdout=subprocess.PIPE, universal_newlines=True
        )
        output = [program.stdout.readline() for _ in range(rng.randrange(6))]  # some episodes, on any machine
        time.sleep(rng.uniform(0, 0.02))
        program.kill()
        output += program.communicate()[0].splitlines(True)
        names = [line.strip() for line in output if line.endswith("\n")]  # the last may have been cut as well
        assert not printed.intersection(names), "an episode was walked twice"
        printed.update(names)
        kills += program.returncode == -9
        if os.path.exists(path):  # it may have been killed before
            with open(path, "rb") as file:
                incomplete += file.read()[-1:] not in (b"", b"\n")
        lost = printed.difference(finished(path))
        assert not lost, f"finished, and not in the log: {sorted(lost)}"
        if program.returncode == 0:
            break
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Recorder(path) as log:
            assert log.finished == [str(name) for name in range(episodes)]
    return kills, incomplete


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as home:
        found = run(home, count, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{count} episodes, killed {found[0]} times, {found[1]} incomplete lines: no finished episode is lost")
