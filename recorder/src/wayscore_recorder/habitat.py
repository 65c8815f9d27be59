"""Measures for Habitat: exact nDTW, SDTW, CLS and SED, and the recorder.

Importing this module registers them, for configurations of VLN-CE (yacs, Habitat 0.1.7: `GT_PATH`) and of later Habitat
(hydra: `gt_path`) alike. A setting may be written in either way.
"""

import atexit
import gzip
import json
import os
import sys
import warnings
import weakref
from contextlib import suppress
from functools import lru_cache
from math import atan2, pi
from typing import Any, Dict, Optional

try:
    from habitat.core.embodied_task import Measure
    from habitat.core.registry import registry
except ImportError as error:
    raise ImportError(
        f"wayscore_recorder.habitat needs Habitat (habitat-lab), which cannot be imported here: {error}; without it, "
        "use the Recorder in your own loop"
    ) from error

from wayscore_recorder.episode import Episode
from wayscore_recorder.path_scores import RunningCLS, RunningSED
from wayscore_recorder.recorder import Recorder
from wayscore_recorder.running import Point, RecorderError, RunningDTW, as_point

with suppress(ImportError):  # a Habitat without structured configurations, such as VLN-CE's
    from wayscore_recorder.habitat_configs import measurements as measurements

ROLES = ("guide", "follower")
"""The annotators of RxR, for ground truth in one file per role."""


class _Measure(Measure):  # type: ignore[misc]
    """What the measures have in common: Habitat's constructor, their name and their settings."""

    cls_uuid = ""

    def __init__(self, *args: Any, sim: Any, config: Any, **kwargs: Any) -> None:
        self._sim = sim
        self._config = config
        super().__init__(*args, sim=sim, config=config, **kwargs)

    def _get_uuid(self, *_: Any, **__: Any) -> str:
        return self.cls_uuid

    def _setting(self, name: str, default: Any) -> Any:
        """Return a setting, as hydra or yacs write its name."""
        for key in (name, name.upper()):
            if key in self._config:
                return self._config[key]
        return default

    def _threshold(self) -> float:
        return float(self._setting("success_distance", 3.0))

    def _position(self) -> Point:
        return as_point(self._sim.get_agent_state().position)

    def _before(self, task: Any) -> Dict[str, Any]:
        """Return the measures that are listed before this one, and so are up to date when it is."""
        found: Dict[str, Any] = {}
        for name, measure in task.measurements.measures.items():
            if measure is self:
                break
            found[name] = measure
        return found

    def _value(self, task: Any, name: str) -> float:
        """Return what another measure found."""
        before = self._before(task)
        if name not in before:
            raise RecorderError(
                f"the measure {self.uuid!r} needs {name!r}; list that before it, among the measurements of the task"
            )
        return float(before[name].get_metric())

    def _reference(self, episode: Any) -> Optional[Any]:
        """Return the path that an episode is compared with: dense ground truth, or the dataset's path."""
        name = str(episode.episode_id)
        file = str(self._setting("gt_path", "") or "")
        if not file:
            return getattr(episode, "reference_path", None)
        known = _ground_truth(file, str(self._setting("split", "")))
        if name not in known:
            raise RecorderError(f"{file}: has no episode {name!r}; is it the ground truth of another split?")
        return known[name]["locations"]

    def _needed_reference(self, episode: Any) -> Any:
        reference = self._reference(episode)
        if reference is None:
            raise RecorderError(
                f"episode '{episode.episode_id}' has no reference_path, which the measure {self.uuid!r} needs; give "
                "the file of ground truth with gt_path"
            )
        return reference


@registry.register_measure(name="WayscoreNDTW")
class NDTW(_Measure):
    """nDTW of the paper, exact, by straight lines; positions that repeat the one before are left out, as in VLN-CE."""

    cls_uuid = "ndtw"
    reference: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self._setting("gt_path", ""):
            warnings.warn(
                "ndtw has no gt_path, so it compares with the dataset's reference_path, whose points are far apart: "
                "nDTW is lower than VLN-CE's, which compares with dense ground truth",
                stacklevel=2,
            )

    def reset_metric(self, *_: Any, episode: Any, **__: Any) -> None:
        """Start an episode; the agent is at its start."""
        self.reference = self._needed_reference(episode)
        self._running = RunningDTW(reference=self.reference)
        self._last: Point = ()
        self.update_metric()

    def update_metric(self, *_: Any, **__: Any) -> None:
        """Take the agent's position."""
        position = self._position()
        if position != self._last:
            self._running.step(position)
            self._metric = self._running.ndtw(self._threshold())
            self._last = position


@registry.register_measure(name="WayscoreSDTW")
class SDTW(_Measure):
    """SDTW: Habitat's `success` times `ndtw`."""

    cls_uuid = "sdtw"

    def reset_metric(self, *_: Any, task: Any, **__: Any) -> None:
        """Start an episode."""
        self.update_metric(task=task)

    def update_metric(self, *_: Any, task: Any, **__: Any) -> None:
        """Take what the other measures found."""
        self._metric = self._value(task, "success") * self._value(task, "ndtw")


@registry.register_measure(name="WayscoreCLS")
class CLS(_Measure):
    """CLS of the paper, by straight lines."""

    cls_uuid = "cls"

    def reset_metric(self, *_: Any, episode: Any, **__: Any) -> None:
        """Start an episode; the agent is at its start."""
        self._running = RunningCLS(reference=self._needed_reference(episode), threshold=self._threshold())
        self.update_metric()

    def update_metric(self, *_: Any, **__: Any) -> None:
        """Take the agent's position."""
        self._running.step(self._position())
        self._metric = self._running.value()


@registry.register_measure(name="WayscoreSED")
class SED(_Measure):
    """SED for positions (see `RunningSED`): Habitat's `success` times how alike the moves along the path are."""

    cls_uuid = "sed"

    def reset_metric(self, *_: Any, episode: Any, task: Any, **__: Any) -> None:
        """Start an episode; the agent is at its start."""
        self._running = RunningSED(reference=self._needed_reference(episode), threshold=self._threshold())
        self.update_metric(task=task)

    def update_metric(self, *_: Any, task: Any, **__: Any) -> None:
        """Take the agent's position."""
        self._running.step(self._position())
        self._metric = self._value(task, "success") * self._running.value()


@registry.register_measure(name="WayscoreRecorder")
class HabitatRecorder(_Measure):
    """Writes episodes to a log: positions, headings, distances to the goal, collisions and the stop.

    Its metric is the number of positions so far. Habitat does not tell a measure that an episode was cut off: it is
    written when the next one starts, when `max_episode_steps` actions are done, or when the program ends normally.
    """

    cls_uuid = "recorder"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agent = str(self._setting("agent", "") or "")
        self._log = Recorder(str(self._setting("log", "run.jsonl")), agent or None, shared=True)
        self._episode: Optional[Episode] = None
        atexit.register(_end_at_exit, weakref.ref(self))

    def reset_metric(self, *_: Any, episode: Any, task: Any, **__: Any) -> None:
        """Start an episode; the agent is at its start."""
        self.cut_off()
        name = str(episode.episode_id)
        if name in self._log:
            warnings.warn(
                f"{self._log.path}: episode {name!r} is finished already, and is not recorded again", stacklevel=2
            )
            return
        reference = None
        if not self._setting("gt_path", ""):  # then it is what the live nDTW is compared with
            reference = getattr(self._before(task).get(NDTW.cls_uuid), "reference", None)
        scene = os.path.splitext(os.path.basename(str(episode.scene_id)))[0]
        self._episode = self._log.episode(
            name,
            scene,
            reference=self._reference(episode) if reference is None else reference,
            threshold=self._threshold(),
            repeats="drop",
        )
        self._metric = 0
        self._record(task, moved=False)

    def update_metric(self, *_: Any, task: Any, **__: Any) -> None:
        """Take the agent's position, and end the episode if the agent stopped."""
        if self._episode is None:
            return
        stopped = bool(getattr(task, "is_stop_called", False))
        self._record(task, moved=not stopped)
        if stopped:
            self._episode.stop()
            self._episode = None
        elif self._metric - 1 == self._setting("max_episode_steps", 0):
            self.cut_off()

    def cut_off(self) -> None:
        """End the episode that is under way, if any; an agent that has not acted yet has not walked it."""
        if self._episode is not None and self._metric > 1:
            self._episode.end()
        self._episode = None

    def _record(self, task: Any, *, moved: bool) -> None:
        assert self._episode is not None
        state = self._sim.get_agent_state()
        away = None
        if "distance_to_goal" in task.measurements.measures:
            away = self._value(task, "distance_to_goal")
        collided = getattr(self._sim, "previous_step_collided", None)  # of the last move, and a stop is none
        self._episode.step(
            as_point(state.position),
            heading=_heading(state.rotation),
            goal_distance=away,
            collided=None if collided is None else bool(collided) and moved,
        )
        self._metric += 1


def _heading(rotation: Any) -> float:
    """Return a quaternion's turn around the vertical, as Habitat's HeadingSensor: 0 along -z, positive to the left."""
    angle = 2 * atan2(rotation.y, rotation.w)
    return angle - 2 * pi if angle > pi else angle + 2 * pi if angle < -pi else angle


@lru_cache(maxsize=4)
def _ground_truth(file: str, split: str) -> Dict[str, Any]:
    """Read ground-truth walks, `{episode: {"locations": [...]}}`, once for all measures; RxR has a file per role."""
    found: Dict[str, Any] = {}
    for role in ROLES if "{role}" in file else ("",):
        path = file.format(split=split, role=role)
        try:
            with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as stream:
                found.update(json.load(stream))
        except (OSError, ValueError) as error:
            raise RecorderError(f"{path}: the ground truth cannot be read ({error})") from error
    return found


def _end_at_exit(measure: Any) -> None:
    """Write the last episode where it was cut off; one that an exception broke off is not finished."""
    recorder = measure()
    if recorder is not None and not hasattr(sys, "last_type"):
        recorder.cut_off()
