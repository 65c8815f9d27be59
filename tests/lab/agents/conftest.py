"""Agents small enough to train in a test, and files to train them on."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayscore.worlds.files import Course, course_files, write_files


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated worlds written as files of R2R."""
    folder = tmp_path_factory.mktemp("course")
    write_files(folder, course_files(Course(episodes=40, scans=4), []))
    return folder
