"""Fuzz one target for some seconds: `python -m tests.fuzz.engine TARGET SECONDS OUT`.

With atheris, inputs that reach new code are kept and changed further; without it, hypothesis changes the seeds. What
crashes is written to OUT with its traceback, once for each place that crashes, and the search goes on.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

LONGEST = 1 << 16


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


def main() -> None:
    """Fuzz the target that the command line names."""
    name, seconds, out = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
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
