"""Rows that need a process of their own: memory, and what an import costs.

Run as a module it is that process: `python -m benchmarks.processes value 50000` prints the growth of its peak memory
in bytes, and whether the value is right.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import Outcome

if TYPE_CHECKING:
    from benchmarks.rows import Setting

IMPORT_ROUNDS = 10


def memory(_: Setting, work: str, count: int) -> Outcome:
    """Growth of peak resident memory during one call in a fresh process; inputs and imports are not counted."""
    command = [sys.executable, "-m", "benchmarks.processes", work, str(count)]
    # Blocks that are freed leave at once, or the call would reuse what making its inputs left behind (glibc).
    environment = {**child_environment(), "MALLOC_MMAP_THRESHOLD_": "65536"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    growth, right = answer.stdout.split()
    return Outcome(int(growth) / 1e6, agreed=right == "True")


def imports(setting: Setting, statement: str) -> Outcome:
    """CPU time of the statement after `import numpy`, in a fresh process, best of ten."""
    clock = "from time import process_time as now; a = now(); import numpy; b = now()"
    command = [sys.executable, "-c", f"{clock}; {statement}; print(b - a, now() - b)"]
    numpy, ours = float("inf"), float("inf")
    for _ in range(2 if setting.quick else IMPORT_ROUNDS):
        answer = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
        first, second = (float(seconds) for seconds in answer.stdout.split())
        numpy, ours = min(numpy, first), min(ours, second)
    return Outcome(ours * 1e3, note=f"`import numpy` itself takes {numpy * 1e3:.0f} ms")


def child_environment() -> dict[str, str]:
    """Return the environment of measured processes: they find this package, and keep compiled modules as users do."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    root = str(Path(__file__).parents[1])
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))}


def children_cpu() -> float:
    """Return the CPU seconds, user and system, of all child processes that have ended."""
    used = _usage("RUSAGE_CHILDREN")
    return float(used.ru_utime + used.ru_stime)


def children_peak() -> int:
    """Return the peak of resident memory, in bytes, of the largest child process that has ended."""
    return int(_usage("RUSAGE_CHILDREN").ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def _usage(who: str) -> Any:
    import resource  # not on Windows

    return resource.getrusage(getattr(resource, who))


def main() -> None:
    """Measure one call in this process."""
    from benchmarks.data import tracking_pair
    from wayscore import kernels
    from wayscore.warping.alignment import align, dtw

    work, count = sys.argv[1], int(sys.argv[2])
    R, Q = tracking_pair(count)
    dtw(reference=R[:50], query=Q[:50])  # what is loaded at first use is no memory of the call
    align(reference=R[:50], query=Q[:50])
    start = _start_of_peak()
    if work == "value":
        value = dtw(reference=R, query=Q)
    elif work == "full":
        value = kernels.warp(None, R, Q, None, None)
    else:
        value = align(reference=R, query=Q).cost
    growth = peak_memory() - start
    print(growth, abs(value - dtw(reference=R, query=Q)) <= 1e-9 * value)


def _start_of_peak() -> int:
    """Forget the peak so far where the system can (Linux), and return the memory now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak_memory()


def peak_memory() -> int:
    """Return the peak of resident memory in bytes.

    Linux lets a child start with its parent's `ru_maxrss`: the process's own mark is read where there is one.
    """
    try:
        return _status("VmHWM")
    except OSError:
        return int(_usage("RUSAGE_SELF").ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"this system does not tell {field}")


if __name__ == "__main__":
    main()
