"""The measures for Habitat, registered and updated as Habitat does it, with both kinds of configuration."""

import gzip
import importlib
import json
import subprocess
import sys
import warnings
from math import exp, pi
from pathlib import Path

import pytest

import stand_in
from stand_in import Environment, Store, episode
from wayscore_recorder import RecorderError, RunningDTW, finished

structured = pytest.mark.skipif(sys.version_info < (3, 7), reason="no dataclasses")
SPARSE = "ndtw has no gt_path"
pytestmark = pytest.mark.filterwarnings("ignore:" + SPARSE)
BASE = [{"type": "DistanceToGoal"}, {"type": "Success"}]


@pytest.fixture(params=["yacs", pytest.param("hydra", marks=structured)])
def habitat(request, monkeypatch):
    """The registry of a Habitat of either kind, with the measures registered."""
    registry = stand_in.install(monkeypatch, structured=request.param == "hydra")
    registry.style = request.param
    registry.module = importlib.import_module("wayscore_recorder.habitat")
    yield registry
    stand_in.forget(monkeypatch)


def config(habitat, kind, **settings):
    """Return a configuration as that Habitat writes its names."""
    found = {"type": kind, **settings}
    return {name.upper(): value for name, value in found.items()} if habitat.style == "yacs" else found


def walk(environment, one, actions):
    """Walk an episode; return the metrics after every action, the start included."""
    environment.reset(one)
    found = [environment.get_metrics()]
    for action in actions:
        environment.step(action)
        found.append(environment.get_metrics())
    return found


WALK = ["ahead"] * 8 + ["left", "left"] + ["ahead"] * 7 + ["stop"]


def test_every_measure_is_registered(habitat):
    names = ["NDTW", "SDTW", "CLS", "SED", "Recorder"]
    assert sorted(habitat.measures) == sorted("Wayscore" + name for name in names)
    assert hasattr(habitat.module, "measurements") == (habitat.style == "hydra")


def test_the_scores_of_a_walk(habitat):
    kinds = [config(habitat, "Wayscore" + name) for name in ("NDTW", "SDTW", "CLS", "SED")]
    one = episode("7")
    found = walk(Environment(habitat, BASE + kinds), one, WALK)
    running = RunningDTW(reference=one.reference_path)
    xs = [0.25 * n for n in range(9)] + [2.0] * 2 + [2.0 + 0.25 * n for n in range(1, 8)] + [3.75]
    before = None
    for x, metrics in zip(xs, found):
        if x != before:  # turns are not compared again
            running.step([x, 0.0, 0.0])
        before = x
        assert metrics["ndtw"] == running.ndtw(3.0)
        assert (metrics["sdtw"], metrics["sed"]) == (0.0, 0.0) or metrics is found[-1]
    last = found[-1]
    assert last["success"] == 1.0  # 0.25 m and 2 m around the wall
    assert last["sdtw"] == last["ndtw"] == running.ndtw(3.0)
    assert last["sed"] == 1.0
    coverage = (1 + 1 + exp(-0.25 / 3)) / 3
    assert last["cls"] == pytest.approx(coverage * 4 * coverage / (4 * coverage + abs(4 * coverage - 3.75)))


def test_the_ground_truth_of_vlnce(habitat, tmp_path):
    dense = [[0.125 * n, 0.0, 0.0] for n in range(33)]
    for role, name in (("guide", "7"), ("follower", "8")):
        with gzip.open(str(tmp_path / f"val_unseen_{role}_gt.json.gz"), "wt") as file:
            json.dump({name: {"locations": dense}}, file)
    pattern = str(tmp_path / "{split}_{role}_gt.json.gz")
    measure = config(habitat, "WayscoreNDTW", gt_path=pattern, split="val_unseen", success_distance=1.5, fdtw=True)
    environment = Environment(habitat, [*BASE, measure])
    running = RunningDTW(reference=dense)
    running.step([0.0, 0.0, 0.0])
    for name in (7, "8"):
        assert walk(environment, episode(name), ["left"])[-1]["ndtw"] == running.ndtw(1.5)
    with pytest.raises(RecorderError, match="has no episode '9'; is it the ground truth of another split"):
        environment.reset(episode("9"))
    missing = config(habitat, "WayscoreNDTW", gt_path=str(tmp_path / "nowhere.json"))
    with pytest.raises(RecorderError, match="the ground truth cannot be read"):
        Environment(habitat, [*BASE, missing]).reset(episode("7"))


def test_a_path_with_few_points_is_reported(habitat, tmp_path):
    gt = tmp_path / "gt.json"
    gt.write_text(json.dumps({"7": {"locations": [[0.0, 0.0, 0.0]]}}))
    with pytest.warns(UserWarning, match=SPARSE + ".*nDTW is lower than VLN-CE's"):
        Environment(habitat, [*BASE, config(habitat, "WayscoreNDTW")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Environment(habitat, [*BASE, config(habitat, "WayscoreNDTW", gt_path=str(gt))])


def test_the_log(habitat, tmp_path):
    log = tmp_path / "run.jsonl"
    measures = [config(habitat, "WayscoreNDTW"), config(habitat, "WayscoreRecorder", log=str(log), agent="mine")]
    environment = Environment(habitat, BASE + measures, max_episode_steps=5)
    environment.max_episode_steps = 500
    found = walk(environment, episode("7"), WALK)
    assert [metrics["recorder"] for metrics in found] == list(range(1, 20))
    assert finished(log) == ["7"]  # as soon as the agent has stopped
    environment.reset(episode("9"))  # not walked, so not recorded
    walk(environment, episode("8", length=12.0), ["ahead"] * 42)
    assert finished(log) == ["7"]
    environment.reset(episode("9"))
    assert finished(log) == ["7", "8"]  # it was cut off
    one, other = [json.loads(line) for line in log.read_text().splitlines()]
    assert (one["agent"], one["scene"], one["stopped"], other["stopped"]) == ("mine", "house", True, False)
    assert one["reference"] == episode("7").reference_path
    assert len(one["path"]) == len(one["goal_distances"]) == len(one["headings"]) == len(one["collided"]) + 1 == 19
    assert one["goal_distances"][0] == 6.0
    assert one["goal_distances"][-1] == found[-1]["distance_to_goal"] == 2.25
    assert one["headings"][-1] == pytest.approx(pi / 6)
    assert other["collided"] == [False] * 40 + [True] * 2
    assert other["path"][-1] == other["path"][-3]
    with pytest.warns(UserWarning, match="episode '7' is finished already"):
        walk(environment, episode("7"), ["stop"])
    assert finished(log) == ["7", "8"]


def test_a_stop_is_no_collision(habitat, tmp_path):
    log = tmp_path / "run.jsonl"
    environment = Environment(habitat, [*BASE, config(habitat, "WayscoreRecorder", log=str(log))])
    walk(environment, episode("1", length=12.0), ["ahead"] * 41 + ["stop"])
    assert json.loads(log.read_text())["collided"] == [False] * 40 + [True, False]


def test_a_limit_of_steps_is_known_if_it_is_given(habitat, tmp_path):
    log = tmp_path / "run.jsonl"
    recorder = config(habitat, "WayscoreRecorder", log=str(log), max_episode_steps=3)
    environment = Environment(habitat, [*BASE, recorder], max_episode_steps=3)
    walk(environment, episode("1"), ["ahead"] * 3)
    assert finished(log) == ["1"]
    walk(environment, episode("2"), ["ahead", "ahead", "stop"])
    assert [json.loads(line)["stopped"] for line in log.read_text().splitlines()] == [False, True]


def test_what_the_recorder_compares_with(habitat, tmp_path):
    dense = [[0.5 * n, 0.0, 0.0] for n in range(9)]
    gt = tmp_path / "gt.json"
    gt.write_text(json.dumps({"7": {"locations": dense}}))
    ndtw, plain = config(habitat, "WayscoreNDTW", gt_path=str(gt)), config(habitat, "WayscoreNDTW")
    for number, (measures, settings, expected) in enumerate(
        [
            ([ndtw], {}, dense),
            ([plain], {"gt_path": str(gt)}, dense),
            ([], {"gt_path": str(gt)}, dense),
            ([], {}, episode("7").reference_path),
        ]
    ):
        log = tmp_path / f"{number}.jsonl"
        recorder = config(habitat, "WayscoreRecorder", log=str(log), **settings)
        walk(Environment(habitat, BASE + measures + [recorder]), episode("7"), ["ahead", "stop"])
        assert json.loads(log.read_text())["reference"] == expected
    log = tmp_path / "objects.jsonl"
    recorder = config(habitat, "WayscoreRecorder", log=str(log))
    walk(Environment(habitat, [recorder]), episode("7", reference=False), ["ahead", "stop"])
    line = json.loads(log.read_text())
    assert "reference" not in line
    assert "goal_distances" not in line


def test_environments_that_share_a_log(habitat, tmp_path):
    recorder = config(habitat, "WayscoreRecorder", log=str(tmp_path / "run.jsonl"))
    environments = [Environment(habitat, [*BASE, recorder]) for _ in range(3)]
    for number, environment in enumerate(environments):
        walk(environment, episode(number), ["ahead", "stop"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-1.jsonl", "run-2.jsonl", "run.jsonl"]
    assert sorted(finished(str(tmp_path / "run*.jsonl"))) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("kinds", "match"),
    [
        (["WayscoreSDTW", "WayscoreNDTW"], "the measure 'sdtw' needs 'ndtw'; list that before it"),
        (["WayscoreSED"], "the measure 'sed' needs 'success'"),
        (["WayscoreRecorder", "DistanceToGoal"], "the measure 'recorder' needs 'distance_to_goal'"),
    ],
)
def test_measures_in_the_wrong_order(habitat, kinds, match, tmp_path):
    base = BASE if "WayscoreSDTW" in kinds else []
    settings = {"log": str(tmp_path / "run.jsonl")}
    environment = Environment(habitat, base + [config(habitat, kind, **settings) for kind in kinds])
    with pytest.raises(RecorderError, match=match):
        environment.reset(episode("1"))


@pytest.mark.parametrize("kind", ["WayscoreNDTW", "WayscoreCLS", "WayscoreSED"])
def test_an_episode_without_a_path(habitat, kind):
    environment = Environment(habitat, [*BASE, config(habitat, kind)])
    with pytest.raises(RecorderError, match="episode '1' has no reference_path"):
        environment.reset(episode("1", reference=False))


@structured
def test_structured_configurations(monkeypatch):
    stand_in.install(monkeypatch, structured=True)
    module = importlib.import_module("wayscore_recorder.habitat")
    found = module.measurements(log="mine.jsonl", gt_path="gt.json", success_distance=2.0)
    assert list(found) == ["ndtw", "sdtw", "recorder"]
    settings = {"type": "WayscoreNDTW", "success_distance": 2.0, "gt_path": "gt.json", "split": ""}
    assert vars(found["ndtw"]) == settings
    assert (found["recorder"].log, found["recorder"].gt_path) == ("mine.jsonl", "gt.json")
    assert vars(found["sdtw"]) == {"type": "WayscoreSDTW"}
    with pytest.raises(TypeError, match="the measures have no setting 'gtpath'"):
        module.measurements(gtpath="gt.json")
    package, node = Store.stored["habitat/task/measurements", "wayscore_ndtw"]
    assert (package, node().type) == ("habitat.task.measurements.ndtw", "WayscoreNDTW")
    assert len(Store.stored) == 5
    stand_in.forget(monkeypatch)


AT_EXIT = """
import importlib
import sys
sys.path.insert(0, sys.argv[3])
import pytest
import stand_in
registry = stand_in.install(pytest.MonkeyPatch(), structured=False)
importlib.import_module("wayscore_recorder.habitat")
environment = stand_in.Environment(registry, [{"TYPE": "WayscoreRecorder", "LOG": sys.argv[1]}])
environment.reset(stand_in.episode("1"))
environment.step("ahead")
if sys.argv[2] == "raise":
    raise RuntimeError("a bug in the loop")
"""


def test_the_last_episode_of_a_program(tmp_path):
    home = str(Path(__file__).parent)
    for how, expected in (("return", ["1"]), ("raise", [])):
        log = str(tmp_path / (how + ".jsonl"))
        done = subprocess.run([sys.executable, "-c", AT_EXIT, log, how, home], stderr=subprocess.PIPE, check=False)
        assert (done.returncode, b"a bug in the loop" in done.stderr) == ((1, True) if how == "raise" else (0, False))
        assert finished(log) == expected


def test_without_habitat(monkeypatch):
    stand_in.install(monkeypatch, structured=False)
    for name in [name for name in sys.modules if name.split(".")[0] == "habitat"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"wayscore_recorder\.habitat needs Habitat \(habitat-lab\)"):
        importlib.import_module("wayscore_recorder.habitat")
