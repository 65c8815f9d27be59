"""What once crashed a reader is read in one of two ways now: without complaint, or with a sentence."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, TARGETS
from wayscore.errors import WayscoreError


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: "/".join(path.parts[-2:]))
def test_known_crashes(path: Path) -> None:
    with suppress(WayscoreError):
        TARGETS[path.parent.name].read(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    """A target whose seeds are refused would fuzz nothing."""
    read, seeds = TARGETS[name]
    accepted = 0
    for seed in seeds():
        try:
            read(seed)
        except WayscoreError:
            continue
        accepted += 1
    assert accepted
