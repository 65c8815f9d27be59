"""`make fuzz`: every reader for FUZZ_MINUTES together, and the kernels under sanitizers; says what crashed.

python -m tests.fuzz [TARGET ...]    FUZZ_MINUTES=5, FUZZ_OUT=build/fuzz
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fuzz.targets import FOLDER, TARGETS

SANITIZED = Path("build/sanitize")
"""Where `make sanitize` puts kernels that are built with sanitizers."""


def main() -> None:
    """Fuzz, one target after another."""
    out = Path(os.environ.get("FUZZ_OUT", "build/fuzz"))
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FOLDER, ignore_errors=True)  # each target has its own
    names = sys.argv[1:] or list(TARGETS)
    kernels = not sys.argv[1:] and SANITIZED.exists()
    seconds = 60 * float(os.environ.get("FUZZ_MINUTES", "5")) / (len(names) + kernels)
    total, bad = 0, 0
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz.engine", name, str(seconds), str(out)]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=(out / f"{name}.log").open("wb"), check=False)
        found = json.loads((out / f"{name}.json").read_text()) if (out / f"{name}.json").exists() else {}
        crashes = dict(found.get("crashes", {}))
        if ended.returncode:
            crashes[f"exit status {ended.returncode}, see {out / name}.log"] = 1
        total, bad = total + found.get("executions", 0), bad + len(crashes)
        print(f"{name:20} {found.get('executions', 0):10,} inputs  {'; '.join(crashes) or 'no crash'}", flush=True)
    if kernels:
        bad += _kernels(seconds)
    print(f"{total:,} inputs, {bad} crashes; files in {out}")
    sys.exit(bool(bad))


def _kernels(seconds: float) -> bool:
    """Run the kernels on random valid shapes under AddressSanitizer and UndefinedBehaviorSanitizer."""
    found = [
        subprocess.check_output(["gcc", f"-print-file-name={name}.so"], text=True).strip()
        for name in ("libasan", "libubsan")
    ]
    first = int.from_bytes(os.urandom(4), "little")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SANITIZED}:.",
        "ASAN_OPTIONS": "detect_leaks=0",
        "LD_PRELOAD": " ".join(found),
    }
    command = [sys.executable, "-m", "tests.twins", "1000000", "--first", str(first), "--seconds", str(seconds)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(f"{'kernels':20} {(ended.stdout or ended.stderr).strip()[-600:]} (from shape {first})", flush=True)
    return bool(ended.returncode)


if __name__ == "__main__":
    main()
