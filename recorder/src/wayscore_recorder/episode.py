"""Episode: one walk of an agent, from its first position to its end."""

from math import inf, isfinite
from typing import Any, Callable, Dict, List, Optional

from wayscore_recorder.running import LARGEST, Distance, RecorderError, RunningDTW, as_point, as_points, check_finite

Finish = Callable[[str, Dict[str, Any]], None]


class Episode:
    """One episode, from its first position to its end; made by `Recorder.episode`.

    As a context (`with log.episode(...) as episode:`) it ends where the block does: cut off, unless the agent stopped.
    If the block raises an exception, nothing is written.

    Attributes:
        ndtw: nDTW so far; None without a reference, and 0 before the first step.
        recorded: a dictionary for other values that a convention of wayscore needs; written with the episode.
    """

    def __init__(
        self,
        name: str,
        scene: Optional[str],
        reference: Any,
        threshold: float,
        distance: Optional[Distance],
        repeats: str,
        finish: Finish,
    ) -> None:
        self.name = name
        self._finish = finish
        self._scene = scene
        self._threshold = threshold
        self._drops = repeats == "drop"
        self._ended = False
        self._path: List[Any] = []
        self._headings: List[Any] = []
        self._goal_distances: List[float] = []
        self._collided: List[bool] = []
        self._reference: Optional[List[Any]] = None
        self._running: Optional[RunningDTW] = None
        self.ndtw: Optional[float] = None
        self.recorded: Dict[str, Any] = {}
        try:
            _check_settings(threshold, repeats)
            if reference is not None:
                self._start(reference, distance)
        except RecorderError as error:
            raise RecorderError(f"episode {name!r}: {error}") from None

    def __repr__(self) -> str:
        score = "" if self.ndtw is None else f", nDTW {self.ndtw:.4g}"
        return f"<Episode {self.name}: {len(self._path)} positions{score}>"

    def step(
        self, position: Any, heading: Any = None, goal_distance: Optional[float] = None, collided: Optional[bool] = None
    ) -> Optional[float]:
        """Take the agent's next position, the first being its start, and return nDTW so far (None: no reference).

        Args:
            position: a point (a list, an array or a simulator's vector), or the name of a node.
            heading: the agent's heading there, radians; or several angles.
            goal_distance: how far the goal is, as the simulator measures it; infinite if it is unreachable.
            collided: whether the move to this position ran into something.
        """
        path = self._path
        if self._ended:
            raise self._error("the episode has ended, and takes no further step")
        if path:
            self._check_given("heading", heading, self._headings)
            self._check_given("goal_distance", goal_distance, self._goal_distances)
            if len(path) > 1:  # no move leads to the first position
                self._check_given("collided", collided, self._collided)
        try:
            place = self._place(position)
            angle = None if heading is None else _angle(heading)
            away = None if goal_distance is None else _metres(goal_distance)
            if self._running is not None and not (self._drops and path and place == path[-1]):
                self._running.step(place)
                self.ndtw = self._running.ndtw(self._threshold)
        except RecorderError as error:
            raise self._error(str(error)) from None
        path.append(place)
        if angle is not None:
            self._headings.append(angle)
        if away is not None:
            self._goal_distances.append(away)
        if collided is not None and len(path) > 1:
            self._collided.append(bool(collided))
        return self.ndtw

    def stop(self) -> Optional[float]:
        """The agent stopped by itself: write the episode, and return its nDTW."""
        return self._end(stopped=True)

    def end(self) -> Optional[float]:
        """The episode was cut off, by a limit of steps or time: write it as not stopped, and return its nDTW."""
        return self._end(stopped=False)

    def __enter__(self) -> "Episode":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and not self._ended:
            self.end()

    def _start(self, reference: Any, distance: Optional[Distance]) -> None:
        given = list(reference)
        if not any(isinstance(place, (str, int)) for place in given):
            given = as_points(given)
        elif distance is None:
            raise RecorderError("a reference of node names needs distance=, a function of two nodes or a mapping")
        self._running = RunningDTW(reference=given, distance=distance)
        self._reference = given
        self.ndtw = 0.0

    def _end(self, *, stopped: bool) -> Optional[float]:
        if self._ended:
            raise self._error("the episode has ended already")
        if not self._path:
            raise self._error("there is none yet; an episode has at least one, its start")
        record = {
            "scene": self._scene,
            "threshold": float(self._threshold),
            "stopped": stopped,
            "path": self._path,
            "reference": self._reference,
            "headings": self._headings,
            "goal_distances": [None if away == inf else away for away in self._goal_distances],
            "collided": self._collided,
            "recorded": self.recorded,
        }
        self._finish(self.name, record)
        self._ended = True
        return self.ndtw

    def _place(self, position: Any) -> Any:
        """Return a position as it is compared and written: coordinates as floats, or the name of a node."""
        place = position.tolist() if hasattr(position, "tolist") else position
        if not isinstance(place, (str, int)):
            place = as_point(place)
            if not -LARGEST <= sum(place) <= LARGEST:
                check_finite(place)
        if self._running is None and self._path and _dimension(place) != _dimension(self._path[0]):
            raise RecorderError(f"it is {position!r:.80}, unlike the first one: {self._path[0]!r:.80}")
        return place

    def _check_given(self, name: str, value: Any, before: List[Any]) -> None:
        if (value is None) == bool(before):
            given = ("missing, and was given", "given, and was missing")[not before]
            raise self._error(f"{name} is {given} before; give it at every step or at none")

    def _error(self, what: str) -> RecorderError:
        return RecorderError(f"episode {self.name!r}, position {len(self._path)}: {what}")


def _check_settings(threshold: Any, repeats: Any) -> None:
    if not (isinstance(threshold, (int, float)) and 0 < threshold < inf):
        raise RecorderError(f"threshold must be a positive number of metres, got {threshold!r}")
    if repeats not in ("keep", "drop"):
        raise RecorderError(f"repeats must be 'keep' or 'drop', got {repeats!r}")


def _dimension(place: Any) -> int:
    return len(place) if isinstance(place, tuple) else 0


def _angle(heading: Any) -> Any:
    """Return one angle, or several, as plain numbers."""
    angle = heading.tolist() if hasattr(heading, "tolist") else heading
    try:
        angles = [float(angle)] if isinstance(angle, (int, float)) else [float(one) for one in angle]
    except (TypeError, ValueError):
        angles = [inf]
    if not all(map(isfinite, angles)):
        raise RecorderError(f"its heading must be radians, got {heading!r:.80}")
    return angles[0] if isinstance(angle, (int, float)) else angles


def _metres(goal_distance: Any) -> float:
    """Return a distance to the goal."""
    try:
        away = float(goal_distance)
    except (TypeError, ValueError):
        away = -1.0
    if not away >= 0:
        raise RecorderError(
            f"its goal_distance must be metres, infinite if the goal is unreachable, got {goal_distance!r:.80}"
        )
    return away
