"""What a crash leaves behind: logs that are cut anywhere, files of others, and a program that is killed."""

import os

import pytest

import crash
from wayscore_recorder import Recorder, RecorderError, finished
from wayscore_recorder.__main__ import main


@pytest.fixture
def whole(tmp_path):
    """A log of two episodes."""
    path = tmp_path / "run.jsonl"
    with Recorder(path, agent="ü") as log:
        for name in ("1", "2"):
            with log.episode(name, "house", reference=[[0.0, 0.0]]) as episode:
                episode.step([0.5, 0.0], goal_distance=1.0)
    return path


def record(path):
    """Continue a log by one episode."""
    with Recorder(path) as log:
        with log.episode("3") as episode:
            episode.step([0.0])
        return log.finished


def test_a_log_that_is_cut_anywhere_loses_no_finished_episode(whole):
    content = whole.read_bytes()
    first = content.index(b"\n") + 1
    for end in range(first, len(content)):
        whole.write_bytes(content[:end])
        expected = ["1", "2"] if end == len(content) - 1 else ["1"]  # only the line's end is missing
        assert finished(whole) == expected
        if end == first or end == len(content) - 1:
            assert record(whole) == [*expected, "3"]
        else:
            with pytest.warns(UserWarning, match="its last line was incomplete.* has been removed"):
                assert record(whole) == [*expected, "3"]
        assert whole.read_bytes().startswith(content[: end + 1 if end == len(content) - 1 else first])
        assert finished(whole) == [*expected, "3"]


def test_zeros_at_the_end_are_removed(whole):
    """As a file system leaves them whose power failed."""
    content = whole.read_bytes()
    for left in (b"\0" * 50, b'{"wayscore_ep' + b"\0" * 9, content[:40] + b"\0" * 9):
        whole.write_bytes(content + left)
        with pytest.warns(UserWarning, match="incomplete"):
            Recorder(whole).close()
        assert whole.read_bytes() == content


@pytest.mark.parametrize(
    "foreign",
    [
        b'[{"episode_id": 7}]',
        b"important notes",
        b'{"episode": "1", "path": [[0, 0]]}\n',
        b'{"wayscore_episode": 2, "episode": "1"}',
        b'{"wayscore_episode": 2, "episode": "1"}\n',
        b'{"wayscore_episode": 1}\n',
        b"\xff\xfe\n",
    ],
)
def test_files_of_others_are_left_alone(foreign, tmp_path, whole):
    for before in (b"", whole.read_bytes()):
        path = tmp_path / "other"
        path.write_bytes(before + foreign)
        with pytest.raises(RecorderError, match="expected an episode of version 1, got"):
            Recorder(path)
        assert path.read_bytes() == before + foreign


def test_damage_in_the_middle_is_not_repaired(whole):
    content = whole.read_bytes()
    damaged = content[:30] + content[40:]
    whole.write_bytes(damaged)
    with pytest.raises(RecorderError, match="line 1: expected an episode"):
        Recorder(whole)
    assert whole.read_bytes() == damaged


def test_a_command_that_repairs(whole, tmp_path, capsys):
    content = whole.read_bytes()
    whole.write_bytes(content[:-5])
    with pytest.warns(UserWarning, match="incomplete"):
        assert main([str(whole)]) == 0
    assert whole.read_bytes() == content[: content.index(b"\n") + 1]
    assert capsys.readouterr().out == f"{whole}: 1 finished episodes, 0 of them stopped by the agent\n"
    (tmp_path / "other").write_text("notes")
    assert main([str(tmp_path / "other"), str(tmp_path / "missing"), str(whole)]) == 1
    other, missing = capsys.readouterr().err.splitlines()
    assert "other, line 1: expected an episode" in other
    assert "missing" in missing
    assert not (tmp_path / "missing").exists()
    assert main([]) == 2


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_program_that_is_killed_loses_no_finished_episode(tmp_path):
    kills, _ = crash.run(str(tmp_path), episodes=12, seed=1)
    assert kills


def test_the_program_that_looks_for_losses_finds_them(tmp_path, monkeypatch):
    monkeypatch.setattr(crash, "PROGRAM", "print(0)\n" + crash.PROGRAM.split("log =")[0])
    (tmp_path / "run.jsonl").write_text("")
    with pytest.raises(AssertionError, match="finished, and not in the log"):
        crash.run(str(tmp_path), episodes=1, seed=0)
