"""The recorder in a loop: what its lines hold, runs that go on, and every mistake in one sentence."""

import json
import os
import subprocess
import sys
from math import exp, inf, nan

import numpy as np
import pytest

from wayscore_recorder import LockedError, Recorder, RecorderError, finished

REFERENCE = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
unix = pytest.mark.skipif(os.name == "nt", reason="needs fork")


def lines(path):
    """Return the lines of a log."""
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    """A log that is not there yet."""
    return tmp_path / "run.jsonl"


def test_a_line_holds_what_was_recorded(path):
    with Recorder(path, agent="mine") as log:
        episode = log.episode(7, "house", reference=np.array(REFERENCE, dtype=np.float32), threshold=2.0)
        assert episode.ndtw == 0.0
        first = episode.step(np.zeros(3, dtype=np.float32), heading=0.5, goal_distance=4.5)
        assert first == exp(-6 / 6)
        episode.step([2.0, 0.0, 1.0], np.float32(0.25), inf, collided=True)
        third = episode.step([2.0, 0.0, 1.0], heading=1, goal_distance=np.float64(2.0), collided=np.bool_(False))
        episode.recorded["termination_reason"] = "none"
        assert episode.stop() == third == episode.ndtw
    assert lines(path) == [
        {
            "wayscore_episode": 1,
            "episode": "7",
            "agent": "mine",
            "scene": "house",
            "threshold": 2.0,
            "stopped": True,
            "path": [[0.0, 0.0, 0.0], [2.0, 0.0, 1.0], [2.0, 0.0, 1.0]],
            "reference": REFERENCE,
            "headings": [0.5, 0.25, 1.0],
            "goal_distances": [4.5, None, 2.0],
            "collided": [True, False],
            "recorded": {"termination_reason": "none"},
        }
    ]
    assert path.read_text().endswith("}\n")


def test_the_least_that_can_be_recorded(path):
    with Recorder(path) as log:
        episode = log.episode("a")
        assert episode.step([1, 2]) is None
        assert episode.end() is None
    assert lines(path) == [
        {"wayscore_episode": 1, "episode": "a", "threshold": 3.0, "stopped": False, "path": [[1.0, 2.0]]}
    ]


def test_names_of_nodes(path):
    distance = {"a": {"a": 0.0, "b": 2.0}, "b": {"a": 2.0, "b": 0.0}}
    with Recorder(path) as log:
        episode = log.episode(1, "house", reference=["a", "b"], distance=distance)
        assert episode.step("a") == exp(-2 / 6)
        assert episode.step("b") == 1.0
        episode.stop()
        other = log.episode(2, "house")
        other.step("a")
        other.step(np.str_("b"))
        other.stop()
    assert [(line["path"], line.get("reference")) for line in lines(path)] == [
        (["a", "b"], ["a", "b"]),
        (["a", "b"], None),
    ]


def test_repeats_can_be_left_out_of_the_score_but_not_of_the_log(path):
    with Recorder(path) as log:
        kept, dropped = (log.episode(name, reference=REFERENCE, repeats=name) for name in ("keep", "drop"))
        for x in (0.0, 1.0, 1.0, 1.0):
            kept.step([x, 0.0, 0.0])
            dropped.step([x, 0.0, 0.0])
        once = log.episode("once", reference=REFERENCE)
        once.step([0.0, 0.0, 0.0])
        assert dropped.stop() == once.step([1.0, 0.0, 0.0]) > kept.stop()
    assert [len(line["path"]) for line in lines(path)] == [4, 4]


def test_a_run_goes_on(path):
    with Recorder(path, agent="mine") as log:
        with log.episode("1") as episode:
            episode.step([0.0])
            episode.stop()
        with log.episode("2") as episode:
            episode.step([0.0])
        with pytest.raises(ZeroDivisionError), log.episode("3") as episode:
            episode.step([1 / 0])
    with Recorder(path, agent="mine") as log:
        assert log.finished == ["1", "2"]
        assert (len(log), 1 in log, "2" in log, "3" in log) == (2, True, True, False)
        with pytest.raises(RecorderError, match="episode '1' is finished already; skip it"):
            log.episode(1)
        with log.episode("3") as episode:
            episode.step([0.0])
    assert [(line["episode"], line["stopped"]) for line in lines(path)] == [("1", True), ("2", False), ("3", False)]
    assert finished(path) == finished(str(path.parent / "*.jsonl")) == ["1", "2", "3"]
    with pytest.raises(RecorderError, match="holds episodes of the agent 'mine'; give 'other' a log of its own"):
        Recorder(path, agent="other")
    Recorder(path).close()  # whoever it is


def test_several_episodes_at_once(path):
    with Recorder(path) as log:
        one, other = log.episode("1"), log.episode("2")
        twin = log.episode("1")
        for episode in (one, other, twin):
            episode.step([0.0])
        other.stop()
        one.stop()
        with pytest.raises(RecorderError, match="episode '1' was started twice"):
            twin.stop()
    assert finished(path) == ["2", "1"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0.0, nan, 0.0],), "position 1: coordinates must be finite"),
        (([0.0, inf, 0.0],), "position 1: coordinates must be finite"),
        (([0.0, 0.0],), "position 1: it has 2 coordinates, points of the reference have 3"),
        (("hall",), "position 1: a position must be a list of numbers, got 'hall'"),
        ((None,), "position 1: a position must be a list of numbers, got None"),
        (([0.0] * 3, "north"), "position 1: its heading must be radians, got 'north'"),
        (([0.0] * 3, nan), "position 1: its heading must be radians, got nan"),
        (([0.0] * 3, None, nan), "position 1: its goal_distance must be metres, .* got nan"),
        (([0.0] * 3, None, -1.0), "position 1: its goal_distance must be metres"),
        (([0.0] * 3, None, "far"), "position 1: its goal_distance must be metres"),
    ],
)
def test_steps_that_are_refused_change_nothing(path, arguments, match):
    given = [0.5 if len(arguments) > 1 and arguments[1] is not None else None, 1.0 if len(arguments) > 2 else None]
    with Recorder(path) as log:
        episode, other = log.episode("1", reference=REFERENCE), log.episode("2", reference=REFERENCE)
        assert episode.step([0.0] * 3, *given) == other.step([0.0] * 3, *given)
        with pytest.raises(RecorderError, match="episode '1', " + match):
            episode.step(*arguments)
        assert episode.step([1.0] * 3, *given) == other.step([1.0] * 3, *given)
        assert episode.stop() == other.stop()
    one, two = lines(path)
    assert {**one, "episode": "2"} == two


@pytest.mark.parametrize("name", ["heading", "goal_distance", "collided"])
def test_what_is_known_is_given_at_every_step(path, name):
    with Recorder(path) as log:
        for before, after in ((0.5, None), (None, 0.5)):
            episode = log.episode(str(before))
            episode.step([0.0])
            if name != "collided":
                episode = log.episode(str(before))
            episode.step([0.0], **{name: before})
            match = name + " is (missing, and was given|given, and was missing) before"
            with pytest.raises(RecorderError, match=match):
                episode.step([1.0], **{name: after})


def test_positions_without_a_reference_are_of_one_kind(path):
    with Recorder(path) as log:
        for first, then in (([0.0, 0.0], [0.0]), ([0.0], "hall"), ("hall", [0.0]), ([1.0, 2.0], [1.0, nan])):
            episode = log.episode("1")
            episode.step(first)
            with pytest.raises(RecorderError, match=r"position 1: (it is .*, unlike the first one|coordinates must)"):
                episode.step(then)


def test_the_end_is_the_end(path):
    with Recorder(path) as log:
        episode = log.episode("1")
        with pytest.raises(RecorderError, match="an episode has at least one, its start"):
            episode.stop()
        episode.step([0.0])
        episode.stop()
        for call, match in ((lambda: episode.step([0.0]), "takes no further step"), (episode.end, "has ended already")):
            with pytest.raises(RecorderError, match=match):
                call()
        late = log.episode("2")
        late.step([0.0])
    with pytest.raises(RecorderError, match="the log is closed"):
        late.stop()
    assert finished(path) == ["1"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"threshold": 0}, "episode '1': threshold must be a positive number of metres, got 0"),
        ({"threshold": nan}, "threshold must be"),
        ({"threshold": "3"}, "threshold must be"),
        ({"repeats": "once"}, "repeats must be 'keep' or 'drop', got 'once'"),
        ({"reference": ["a", "b"]}, "a reference of node names needs distance="),
        ({"reference": []}, "the reference is empty"),
        ({"reference": [[0.0, nan]]}, "point 0 of the reference: coordinates must be finite"),
    ],
)
def test_episodes_that_are_refused(path, settings, match):
    with Recorder(path) as log, pytest.raises(RecorderError, match=match):
        log.episode("1", **settings)


@pytest.mark.parametrize("value", [nan, {1, 2}])
def test_facts_that_are_no_json(path, value):
    with Recorder(path) as log:
        episode = log.episode("1")
        episode.step([0.0])
        episode.recorded["what"] = value
        with pytest.raises(RecorderError, match="episode '1': cannot be written as JSON"):
            episode.stop()
        episode.recorded["what"] = 1
        episode.stop()
    assert [line["recorded"] for line in lines(path)] == [{"what": 1}]


SECOND = """
import sys, wayscore_recorder as w
try:
    w.Recorder(sys.argv[1])
except w.LockedError:
    sys.exit(9)
"""


def test_two_writers_are_refused(path):
    with Recorder(path, agent="mine") as log:
        with pytest.raises(LockedError, match=r"run\.jsonl: another program is writing to it"):
            Recorder(path)
        assert subprocess.call([sys.executable, "-c", SECOND, str(path)]) == 9
        with log.episode("1") as episode:
            episode.step([0.0])
        assert finished(path) == ["1"]  # reading needs no lock
    Recorder(path).close()


def test_processes_that_share_a_run(path):
    def record(log, name):
        with log.episode(name) as episode:
            episode.step([0.0])

    with Recorder(path, shared=True) as one, Recorder(path, shared=True) as two, Recorder(path, shared=True) as three:
        assert [os.path.basename(log.path) for log in (one, two, three)] == ["run.jsonl", "run-1.jsonl", "run-2.jsonl"]
        record(one, "1")
        record(two, "2")
    with Recorder(path, shared=True) as again:
        assert sorted(again.finished) == ["1", "2"]
        assert again.path == str(path)
        record(again, "3")
    assert finished(str(path.parent / "run*.jsonl")) == ["2", "1", "3"]


@unix
def test_a_fork_does_not_write(path):
    with Recorder(path) as log:
        episode = log.episode("1")
        episode.step([0.0])
        child = os.fork()
        if not child:
            try:
                episode.stop()
            except RecorderError as error:
                os._exit(9 if "was opened in another process" in str(error) else 1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] >> 8 == 9
        episode.stop()
    assert finished(path) == ["1"]


FULL = """
import resource, sys, wayscore_recorder as w
log = w.Recorder(sys.argv[1])
with log.episode("1") as episode:
    episode.step([0.0])
resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
episode = log.episode("2")
for n in range(1000):
    episode.step([float(n)])
try:
    episode.stop()
except w.RecorderError as error:
    assert "cannot be written" in str(error) and "is not in the log" in str(error), error
else:
    raise AssertionError("there was room")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with log.episode("3") as episode:
    episode.step([0.0])
episode = log.episode("2")
"""


@unix
def test_a_full_disk_leaves_the_log_whole(path):
    subprocess.check_call([sys.executable, "-c", FULL, str(path)])
    assert finished(path) == ["1", "3"]


def test_places_where_nothing_can_be_written(tmp_path):
    for wrong in (tmp_path, tmp_path / "missing" / "run.jsonl"):
        with pytest.raises(RecorderError, match="cannot be opened for writing"):
            Recorder(wrong)
