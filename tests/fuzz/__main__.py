"""`make fuzz`: every reader for FUZZ_MINUTES together, and the kernels under sanitizers; says what crashed.

python -m tests.fuzz [TARGET ...]    FUZZ_MINUTES=5, FUZZ_OUT=build/fuzz

With atheris, inputs that reach new code are kept and changed further; without it, hypothesis changes the seeds. What
crashes is written to FUZZ_OUT with its traceback, once for each place that crashes, and the search goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ONE = "--one"
"""What begins the command line of the process that fuzzes one target."""
SANITIZED = Path("build/sanitize")
"""Where `make sanitize` puts kernels that are built with sanitizers."""
LONGEST = 1 << 16


def main() -> None:
    """Fuzz, one target after another, each in a process of its own."""
    if sys.argv[1:2] == [ONE]:
        fuzz(sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]))
        return
    from tests.fuzz.targets import FOLDER, TARGETS

    out = Path(os.environ.get("FUZZ_OUT", "build/fuzz"))
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FOLDER, ignore_errors=True)  # each target has its own
    names = sys.argv[1:] or list(TARGETS)
    kernels = not sys.argv[1:] and SANITIZED.exists()
    seconds = 60 * float(os.environ.get("FUZZ_MINUTES", "5")) / (len(names) + kernels)
    total, bad = 0, 0
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz", ONE, name, str(seconds), str(out)]
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


class Watch:
    """Calls a reader, counts, and keeps what crashes it."""

    def __init__(self, name: str, read: Any, out: Path) -> None:
        self.name, self.read, self.out = name, read, out
        self.executions = 0
        self.reported = 0.0
        self.crashes: dict[str, int] = {}

    def __call__(self, content: bytes) -> None:
        from wayscore.errors import WayscoreError

        self.executions += 1
        try:
            self.read(content)
        except WayscoreError as error:
            said = str(error)
            if len(said) > 2_000 or not all(char.isprintable() or char in "\n\u200c\u200d" for char in said):
                self._keep(content, AssertionError(f"an error that cannot be shown: {said[:300]!r}"))
        except MemoryError:
            raise
        except Exception as error:
            self._keep(content, error)
        if time.monotonic() > self.reported + 1.0:  # libFuzzer ends the process without a word
            self.report()

    def _keep(self, content: bytes, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames if "wayscore" in frame.filename]
        key = f"{type(error).__name__} {ours[-1] if ours else ''} {str(error)[:60] if not ours else ''}"
        self.crashes[key] = self.crashes.get(key, 0) + 1
        if self.crashes[key] == 1:
            path = self.out / f"{self.name}-{len(self.crashes)}"
            path.write_bytes(content)
            path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), errors="backslashreplace")

    def report(self) -> None:
        """Write how many inputs were read so far, and what crashed."""
        self.reported = time.monotonic()
        found = {"executions": self.executions, "crashes": self.crashes}
        (self.out / f"{self.name}.json").write_text(json.dumps(found))


def with_atheris(watch: Watch, seeds: list[bytes], seconds: float) -> None:
    """Change what reaches new code."""
    import atheris

    corpus = watch.out / f"{watch.name}-corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={max(1, round(seconds))}", f"-max_len={LONGEST}", "-rss_limit_mb=3000", "-timeout=60"]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={watch.out}/{watch.name}-", "-verbosity=0", str(corpus)], watch
    )
    atheris.Fuzz()  # which ends the process


def with_hypothesis(watch: Watch, seeds: list[bytes], seconds: float) -> None:
    """Change the seeds at random places."""
    from hypothesis import HealthCheck, given, settings, strategies as st

    end = time.monotonic() + seconds
    edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=8)), max_size=6)

    @settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(seeds), edits)
    def once(seed: bytes, edits: list[tuple[float, int, bytes]]) -> None:
        content = bytearray(seed)
        for place, taken, put in edits:
            at = round(place * len(content))
            content[at : at + taken] = put
        if time.monotonic() < end:
            watch(bytes(content[:LONGEST]))

    while time.monotonic() < end:
        once()


def fuzz(name: str, seconds: float, out: Path) -> None:
    """Fuzz one target in this process, which atheris ends."""
    try:
        import atheris
    except ImportError:
        search: Any = with_hypothesis
    else:
        search = with_atheris
        with atheris.instrument_imports(include=["wayscore"]):
            import wayscore.cli.app
            import wayscore.evaluation
            import wayscore.formats.convert
            import wayscore.lab.study.create  # noqa: F401
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    watch = Watch(name, target.read, out)
    seeds = list(target.seeds())
    for seed in seeds:
        watch(seed)
    search(watch, seeds, seconds)
    watch.report()


if __name__ == "__main__":
    main()
