"""Rewards for fine-tuning language models: completions in, one score of the path each, for TRL's and verl's trainers.

    reward = PathReward(distance=graphs, metric="nDTW")
    GRPOTrainer(..., reward_funcs=reward)     # TRL: the dataset has the columns reference and scene
    compute_score = reward.compute_score      # verl: custom_reward_function.path names the file that says this

What a model writes is read strictly: either the whole answer is understood, or it is malformed, and a `PathError` says
why. Nothing that a model writes ends a training.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wayscore.distances.base import EUCLIDEAN, Distance, Floats, as_distance
from wayscore.errors import (
    OptionError,
    PathError,
    UnknownSceneError,
    WayscoreError,
    check_threshold,
    did_you_mean,
    first_line,
    shortened,
)
from wayscore.evaluation.score import score
from wayscore.metrics import Metric, find_metrics
from wayscore.rewards.rewards import check_finite

ANSWERS = ("nodes", "points", "actions")
COLUMNS = ("reference", "scene", "start", "heading")
"""The columns of a dataset that are read; `PathReward(columns=...)` renames them."""
ACTIONS = {"forward": ("1", "move_forward"), "left": ("2", "turn_left"), "right": ("3", "turn_right"), "stop": ("0",)}
"""Action -> how else it may be written; the numbers are those of VLN-CE."""
AXES = ((1, 2, 1.0), (0, 2, -1.0), (0, 1, 1.0))
"""For each axis that may point up: the axis to the right of heading 0, the axis ahead of it, and the latter's sign."""
_BLOCK = re.compile(r"<answer>(.*)</answer>", re.DOTALL)


def answer_of(completion: Any) -> str:
    """Return the answer in a completion, which is text or a list of messages.

    Of several messages the last one counts. What stands before `</think>` is left out. One `<answer>` block is the
    answer; without any, the whole text is; several are malformed.

    >>> answer_of("I turn right first. <answer> hall, stairs </answer>")
    'hall, stairs'
    >>> answer_of([{"role": "assistant", "content": "<think>hall?</think> stairs"}])
    'stairs'
    """
    text = completion
    if isinstance(text, list) and text:
        text = text[-1].get("content") if isinstance(text[-1], Mapping) else None
        if isinstance(text, list):  # the parts of a message that may hold pictures too
            parts = [part.get("text", "") for part in text if isinstance(part, Mapping)]
            text = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(text, str):
        raise PathError(f"a completion must be text or a list of messages with text, got {shortened(completion)}")
    text = text.rpartition("</think>")[2]
    marks = text.count("<answer>") + text.count("</answer>")
    if marks:
        block = _BLOCK.search(text)
        if block is None or marks != 2:
            raise PathError(f"the completion must have one <answer>...</answer> block, got {shortened(text)}")
        text = block[1]
    answer: str = text.strip()
    if not answer:
        raise PathError("the completion has no answer")
    return answer


def items_of(text: str) -> list[Any]:
    """Return the items of a JSON list, or of text that is separated by "->", else by commas, else by whitespace.

    >>> items_of('["hall", "stairs"]'), items_of("living room, hall"), items_of("a -> b"), items_of("a b")
    (['hall', 'stairs'], ['living room', 'hall'], ['a', 'b'], ['a', 'b'])
    """
    if text.startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise PathError(f"the answer looks like a JSON list but is not valid JSON: {shortened(text)}") from None
        if not found:
            raise PathError("the answer is an empty list")
        return list(found)
    separator = next((mark for mark in ("->", ",") if mark in text), None)
    items = [item.strip() for item in text.split(separator)]
    if not all(items):
        raise PathError(f"the answer has an empty item: {shortened(text)}")
    return items


def read_nodes(items: Sequence[Any], index: Mapping[Any, int] | None = None) -> list[Any]:
    """Return nodes: names, whole numbers, or lists of these for nodes that are tuples.

    Where an index of labels is given, a number in text is looked up as a number too, and the reverse.

    >>> read_nodes(["7", "b"], {7: 0, "b": 1}), read_nodes([[0, 1], [0, 2]])
    ([7, 'b'], [(0, 1), (0, 2)])
    """
    nodes = []
    for item in items:
        parts = item if isinstance(item, list | tuple) else [item]
        if not all(isinstance(part, str | int | np.integer) and not isinstance(part, bool) for part in parts):
            raise PathError(f"a node must be a name or a whole number, got {shortened(item)}")
        label: Any = tuple(parts) if parts is item else item
        other: Any = str(label)
        if isinstance(label, str) and re.fullmatch(r"-?[0-9]{1,18}", label):
            other = int(label)
        nodes.append(other if index is not None and label not in index and other in index else label)
    return nodes


def read_points(items: Sequence[Any]) -> Floats:
    """Return points, one list of coordinates each.

    >>> read_points([[0, 1], [0, 2.5]])
    array([[0. , 1. ], [0. , 2.5]])
    """
    for point in items:
        fits = isinstance(point, list | tuple) and len(point) == len(items[0]) > 0
        if not fits or any(isinstance(x, bool) or not isinstance(x, int | float) for x in point):
            raise PathError(f"points must be lists of coordinates, all of the same length, got {shortened(point)}")
    try:
        return np.array(items, dtype=np.float64)
    except OverflowError:
        raise PathError("a coordinate is too large") from None


def read_actions(items: Sequence[Any]) -> list[str]:
    """Return actions as "forward", "left", "right" and "stop", which may only be the last one.

    >>> read_actions(["move_forward", "LEFT", 1, "stop"])
    ['forward', 'left', 'forward', 'stop']
    """
    actions = []
    for item in items:
        word = str(item).lower() if isinstance(item, str | int) and not isinstance(item, bool) else None
        action = next((action for action, others in ACTIONS.items() if word in (action, *others)), None)
        if action is None:
            raise PathError(f"actions must be forward, left, right or stop, got {shortened(item)}")
        actions.append(action)
    if "stop" in actions[:-1]:
        raise PathError(f"{len(actions) - actions.index('stop') - 1} actions follow a stop")
    return actions


def heading_of(rotation: Any, up_axis: int = 2) -> float:
    """Return a heading in radians, clockwise from ahead; a rotation x, y, z, w around the up axis becomes one.

    Ahead is +y where z points up and in the plane, -z where y points up (Habitat), +z where x does.

    >>> heading_of(0.5), round(heading_of([0, math.sqrt(0.5), 0, math.sqrt(0.5)], up_axis=1), 3)
    (0.5, -1.571)
    """
    numbers = _array(rotation).reshape(-1)
    if len(numbers) not in (1, 4) or not np.isfinite(numbers).all() or (len(numbers) == 4 and not numbers.any()):
        raise OptionError(
            "a heading must be one number, radians clockwise, or a rotation x, y, z, w; got " + shortened(rotation)
        )
    return float(numbers[0]) if len(numbers) == 1 else -2 * math.atan2(numbers[up_axis], numbers[3])


def walk(
    actions: Sequence[str],
    start: Any,
    heading: float = 0.0,
    *,
    step: float = 0.25,
    turn: float = 15.0,
    up_axis: int = 2,
) -> Floats:
    """Return where actions lead if nothing is in the way: the start, and one point for each "forward".

    The heading is in radians, the angle of a turn in degrees.

    >>> walk(["forward", "right", "forward"], [0, 0], step=1.0, turn=90.0).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    here = _array(start)
    if here.shape not in ((2,), (3,)) or not np.isfinite(here).all():
        raise OptionError(f"a start must be two or three finite coordinates, got {shortened(start)}")
    right, ahead, sign = AXES[up_axis if len(here) == 3 else 2]
    points, turns = [here], 0
    for action in actions:
        if action == "forward":
            angle = heading + turns * math.radians(turn)
            here = here.copy()
            here[right] += step * math.sin(angle)
            here[ahead] += sign * step * math.cos(angle)
            points.append(here)
        elif action != "stop":
            turns += 1 if action == "right" else -1
    return np.array(points)


def _array(value: Any) -> Floats:
    """Return a value as an array of numbers, which is empty if it is none."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


class _Row(NamedTuple):
    """What the dataset says of one episode, checked."""

    reference: Any
    distance: Distance
    start: Any
    heading: float


class PathReward:
    """Scores the paths in completions of a language model. An instance is a reward function of TRL's GRPO trainer.

    A completion is text or a list of messages; `answer_of` and `items_of` say how it is read. A malformed one
    (not understood, a node that the scene does not have, a score that is undefined because the goal is unreachable)
    gets the reward `malformed`, and never ends a training. A dataset that makes no sense is an error.

    Args:
        distance: d between two nodes or points; None is Euclidean. A mapping from scene to distance, such as
            `ws.load_graphs` returns, needs the column `scene`.
        metric: the score, as a name or value that `ws.score` knows; or several with their weights:
            `{"nDTW": 1.0, "SR": 0.5, "NE": -0.1}`.
        answers: what a completion lists: "nodes", "points" (lists of coordinates), or "actions" (forward, left, right,
            stop), which lead from the columns `start` and `heading` as if nothing were in the way. Or a function that
            takes the text of an answer, returns a path, and raises ValueError for a malformed one.
        threshold: d_th, in the units of the distance.
        malformed: the reward of a malformed completion; by default the worst score there is, 0 for nDTW.
        step: the length of "forward", 0.25 m as in VLN-CE.
        turn: the angle of "left" and "right", degrees.
        up_axis: which of three coordinates points up; in Habitat 1.
        columns: the dataset's names for `reference`, `scene`, `start` and `heading` where they differ, such as
            `{"reference": "path", "scene": "scan"}`.

    >>> reward = PathReward(answers="points", threshold=3.0)
    >>> reward(completions=["[[0, 0], [3, 0]]", "north, I think"], reference=[[[0, 0], [3, 0]]] * 2)
    [1.0, 0.0]
    """

    def __init__(
        self,
        *,
        distance: Distance | Mapping[str, Distance] | None = None,
        metric: str | Metric | Mapping[Any, float] = "nDTW",
        answers: str | Callable[[str], Any] = "nodes",
        threshold: float = 3.0,
        malformed: float | None = None,
        step: float = 0.25,
        turn: float = 15.0,
        up_axis: int = 2,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        check_threshold(threshold)
        if not callable(answers) and answers not in ANSWERS:
            given = f"{shortened(answers)}{did_you_mean(answers, ANSWERS)}"
            raise OptionError(f"answers must be one of {', '.join(ANSWERS)}, or a function of the text, got {given}")
        if answers == "nodes" and distance is None:
            raise OptionError(
                'answers="nodes" need distance=: a Graph or Table of the nodes, or a mapping from scene to those; '
                'Use answers="points" for coordinates'
            )
        for name, value in (("step", step), ("turn", turn), ("malformed", 0.0 if malformed is None else malformed)):
            check_finite(name, value)
        if up_axis not in (0, 1, 2):
            raise OptionError(f"up_axis must be 0, 1 or 2: which coordinate points up, got {shortened(up_axis)}")
        unknown = next((name for name in columns or {} if name not in COLUMNS), None)
        if unknown is not None:
            given = f"{shortened(unknown)}{did_you_mean(unknown, COLUMNS)}"
            raise OptionError(f"columns renames {', '.join(COLUMNS)}, not {given}")
        self.distance = distance if distance is None or isinstance(distance, Mapping) else as_distance(distance)
        self.weights = _weights(metric)
        self.answers = answers
        self.threshold = float(threshold)
        if malformed is None:  # the lowest reward that there is
            metrics = find_metrics(list(self.weights))
            endless = next((metric for metric in metrics if not math.isfinite(metric.worst)), None)
            if endless is not None:
                raise OptionError(
                    f"{endless} has no worst value; say the reward of a malformed completion with malformed="
                )
            worst = (weight * metric.worst for weight, metric in zip(self.weights.values(), metrics, strict=True))
            malformed = math.fsum(worst)
        self.malformed, self.step, self.turn, self.up_axis = float(malformed), step, turn, up_axis
        self.columns = {name: name for name in COLUMNS} | dict(columns or {})
        self.__name__ = "+".join(map(str, self.weights))  # under which TRL logs it

    def __repr__(self) -> str:
        return f"<PathReward {self.__name__}, malformed: {self.malformed:g}>"

    def __call__(self, completions: Sequence[Any], **dataset: Any) -> list[float | None]:
        """Return the reward of every completion; None where the reference is None (TRL: does not apply).

        Args:
            completions: text, or lists of messages.
            dataset: the columns of the dataset, one value per completion each, and whatever else TRL passes.
        """
        reference = self.columns["reference"]
        if reference not in dataset:
            raise OptionError(
                f'the dataset has no column "{reference}" with the reference of each prompt; add it, or name yours '
                'with columns={"reference": ...}'
            )
        known = {column: dataset[column] for column in self.columns.values() if column in dataset}
        for column, values in known.items():
            if len(values) != len(completions):
                raise OptionError(f"{len(completions)} completions but {len(values)} values of {column}")
        rewards: list[float | None] = []
        malformed = 0
        for number, completion in enumerate(completions):
            columns = {column: values[number] for column, values in known.items()}
            if columns[reference] is None:
                rewards.append(None)
                continue
            found = self._score(completion, self._row(columns, f"row {number} of the batch"))
            malformed += found is None
            rewards.append(self.malformed if found is None else found)
        if callable(log := dataset.get("log_metric")):
            log(f"{self.__name__}/malformed", malformed / max(len(completions), 1))
        return rewards

    def compute_score(
        self,
        data_source: Any,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> float:
        """Return the reward of one completion: the function that verl's reward managers call.

        Args:
            data_source: the name of the dataset, for the error message if its row makes no sense.
            solution_str: the completion.
            ground_truth: the reference, as a list, array or text.
            extra_info: the other columns: `scene`, `start`, `heading`.
        """
        columns = {**(extra_info or {}), self.columns["reference"]: ground_truth}
        found = self._score(solution_str, self._row(columns, f"a row of {data_source}"))
        return self.malformed if found is None else found

    def read(self, completion: Any, **columns: Any) -> Any:
        """Return the path in a completion, or raise the PathError that says why it is malformed.

        Args:
            completion: text, or a list of messages.
            columns: the columns of its row, `reference` among them.

        >>> PathReward(answers="actions").read("forward, jump", reference=[[0, 0], [0, 1]], start=[0, 0])
        Traceback (most recent call last):
        wayscore.errors.PathError: actions must be forward, left, right or stop, got 'jump'
        """
        return self._path(completion, self._row(columns, "this row"))

    def _score(self, completion: Any, row: _Row) -> float | None:
        """Return the score of a completion, None if it is malformed."""
        try:
            query = self._path(completion, row)
        except PathError:
            return None
        options: dict[str, Any] = {"threshold": self.threshold, "metrics": list(self.weights)}
        table = score(references=[row.reference], queries=[query], distance=row.distance, **options)
        columns = zip(self.weights.values(), table.columns.values(), strict=True)
        total = math.fsum(weight * float(values[0]) for weight, values in columns)
        return total if math.isfinite(total) else None

    def _path(self, completion: Any, row: _Row) -> Any:
        text = answer_of(completion)
        if callable(self.answers):
            try:
                path = self.answers(text)
            except ValueError as error:
                raise PathError(f"the answer is malformed: {first_line(error)}") from None
        elif self.answers == "nodes":
            path = read_nodes(items_of(text), row.distance.index)
        elif self.answers == "points":
            path = read_points(items_of(text))
        else:
            actions = read_actions(items_of(text))
            path = walk(actions, row.start, row.heading, step=self.step, turn=self.turn, up_axis=self.up_axis)
        places = row.distance.encode([path], role=lambda _: "the completion").places
        if places.ndim == 2 and places.shape[1] != len(row.reference[0]):
            raise PathError(f"the points must have {len(row.reference[0])} coordinates, got {places.shape[1]}")
        return path

    def _row(self, columns: Mapping[str, Any], where: str) -> _Row:
        """Check what the dataset says of an episode; its mistakes are errors, since no completion can mend them."""
        facts = {name: columns.get(column) for name, column in self.columns.items()}
        try:
            given: Any = self.distance
            if isinstance(given, Mapping):
                try:
                    given = given[facts["scene"]]
                except (KeyError, TypeError):
                    raise UnknownSceneError(
                        f'the column "{self.columns["scene"]}" says {shortened(facts["scene"])}, and distance= has no '
                        f"such scene{did_you_mean(facts['scene'], given)}"
                    ) from None
            distance = EUCLIDEAN if given is None else as_distance(given)
            fits = not distance.is_straight if self.answers == "nodes" else distance.index is None
            if not fits and not callable(self.answers):
                kind = "points" if distance.is_straight else "nodes"
                raise OptionError(f"answers are {self.answers}, and the {distance.name} is a distance between {kind}")
            reference: Any = _listed(facts["reference"])
            if self.answers == "nodes" or distance.index is not None:
                reference = read_nodes(reference, distance.index)
            elif not callable(self.answers):
                reference = read_points(reference)
            distance.encode([reference], role=lambda _: "the reference")
            start, heading = None, 0.0
            if self.answers == "actions":
                heading = heading_of(0.0 if facts["heading"] is None else facts["heading"], self.up_axis)
                start = walk([], facts["start"], up_axis=self.up_axis)[0]
                if len(start) != len(reference[0]):
                    raise OptionError(f"the start has {len(start)} coordinates, the reference {len(reference[0])}")
        except WayscoreError as error:
            raise type(error)(f"{where}: {error}") from None
        return _Row(reference, distance, start, heading)


def _listed(reference: Any) -> list[Any]:
    """Return a reference as a list, from text, arrays of arrays (Parquet) or lists."""
    if isinstance(reference, str):
        return items_of(reference.strip())
    if not hasattr(reference, "__len__"):
        raise PathError(f"a reference must be a list of nodes or points, got {shortened(reference)}")
    items = reference.tolist() if isinstance(reference, np.ndarray) else list(reference)
    return [item.tolist() if isinstance(item, np.ndarray | np.generic) else item for item in items]


def _weights(metric: str | Metric | Mapping[Any, float]) -> dict[str | Metric, float]:
    """Return metrics with their weights: symbols, or values if they have no name that is known everywhere."""
    given = metric if isinstance(metric, Mapping) else dict.fromkeys(find_metrics(metric), 1.0)  # type: ignore[arg-type]
    weights: dict[str | Metric, float] = {}
    for name, weight in given.items():
        (found,) = find_metrics([name])
        check_finite(f"the weight of {found}", weight)
        if found.direction is not None and weight * (1 if found.direction == "up" else -1) < 0:
            better = "higher" if found.direction == "up" else "lower"
            raise OptionError(
                f'{found} is better when {better}, and a reward is better when higher: use metric={{"{found}": '
                f"{-weight:g}}}"
            )
        weights[name if isinstance(name, Metric) else found.symbol] = float(weight)
    if not weights:
        raise OptionError("metric must name at least one metric")
    return weights
